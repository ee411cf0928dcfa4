model three_factor_big {
  type E = f16;
  input a : E[4096,2048];
  input c : E[2048];
  input b : E[4096,2048];
  output y[i,k] = sum(j) a[i,j] * c[j] * b[k,j];
}
