model bilinear {
  type E = f16;
  input x : E[512,256];
  param w : E[128,256,256];
  input z : E[512,256];
  output y[n,o] = sum(i,j) x[n,i] * w[o,i,j] * z[n,j];
}
