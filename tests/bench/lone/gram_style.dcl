model gram_style {
  type E = f16;
  input x : E[8,256,64,64];
  output g[n,i,j] : f32 = sum(p,q) x[n,i,p,q] * x[n,j,p,q] / 4096;
}
