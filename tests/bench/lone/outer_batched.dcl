model outer_batched {
  type E = f16;
  input a : E[256,256];
  input b : E[256,256];
  output y[n,i,j] = a[n,i] * b[n,j];
}
