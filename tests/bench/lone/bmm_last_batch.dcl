model bmm_last_batch {
  type E = f16;
  input a : E[256,256,64];
  input b : E[256,256,64];
  output y[i,k,n] = sum(j) a[i,j,n] * b[j,k,n];
}
