model bmm_mid_batch {
  type E = f16;
  input a : E[512,64,128];
  input b : E[512,64,128];
  output y[n,i,k] = sum(j) a[i,n,j] * b[k,n,j];
}
