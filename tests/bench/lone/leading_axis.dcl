model leading_axis {
  type E = f16;
  input a : E[4096,2048];
  input b : E[4096,2048];
  output y[i,k] = sum(j) a[j,i] * b[j,k];
}
