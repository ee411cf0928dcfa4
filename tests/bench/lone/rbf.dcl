model rbf {
  type E = f16;
  input a : E[2048,64];
  input b : E[2048,64];
  d[i,j] : f32 = sum(c) (f32(a[i,c]) - b[j,c]) * (a[i,c] - b[j,c]);
  output y[i,j] : E = exp(-0.5*d[i,j]);
}
