model gram_nhwc {
  type E = f16;
  input x : E[8,64,64,256];
  output g[n,i,j] : f32 = sum(p,q) x[n,p,q,i] * x[n,p,q,j] / 4096;
}
