model cdist2 {
  type E = f16;
  input a : E[4096,64];
  input b : E[4096,64];
  d[i,j] : f32 = sum(c) (f32(a[i,c]) - b[j,c]) * (a[i,c] - b[j,c]);
  output y[i,j] : E = sqrt(d[i,j]);
}
