model matvec_batched {
  type E = f16;
  input a : E[256,512,256];
  input x : E[256,256];
  output y[n,i] = sum(j) a[n,i,j]*x[n,j];
}
