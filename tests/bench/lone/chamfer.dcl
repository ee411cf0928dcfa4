model chamfer {
  type E = f16;
  input a : E[4,4096,3];
  input b : E[4,4096,3];
  d[n,i,j] : f32 = sum(c) (f32(a[n,i,c]) - b[n,j,c]) * (a[n,i,c] - b[n,j,c]);
  m[n,i] = min(j) d[n,i,j];
  output y[n] = mean(i) m[n,i];
}
