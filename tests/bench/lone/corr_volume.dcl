model corr_volume {
  type E = f16;
  input a : E[2,256,46,62];
  input b : E[2,256,46,62];
  output y[n,i,j,k,l] = (sum(c) a[n,c,i,j] * b[n,c,k,l]) / 16.0;
}
