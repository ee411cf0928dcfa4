model argmax_cols {
  type E = f16;
  input x : E[4096,8192];
  output y[j] = argmax(i) x[i,j];
}
