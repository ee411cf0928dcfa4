model max_cols {
  type E = f16;
  input x : E[8192,8192];
  output y[j] = max(i) x[i,j];
}
