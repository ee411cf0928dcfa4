model cdist2_b {
  type E = f16;
  input a : E[8,1024,128];
  input b : E[8,1024,128];
  output y[n,i,j] : f32 = sum(c) (a[n,i,c] - b[n,j,c]) * (a[n,i,c] - b[n,j,c]);
}
