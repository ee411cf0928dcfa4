model tril_mask {
  type E = f16;
  input a : E[2048,2048];
  input x : E[2048,1024];
  output y[i,k] = sum(j) (j <= i ? a[i,j] : 0) * x[j,k];
}
