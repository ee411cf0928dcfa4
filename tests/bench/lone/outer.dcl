model outer {
  type E = f16;
  input a : E[8192];
  input b : E[4096];
  output y[i,j] = a[i] * b[j];
}
