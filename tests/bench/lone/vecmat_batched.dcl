model vecmat_batched {
  type E = f16;
  input a : E[256,512,256];
  input x : E[256,512];
  output y[n,j] = sum(i) a[n,i,j]*x[n,i];
}
