model cumsum_first {
  type E = f16;
  input x : E[4096,8192];
  output y[i in 0..4096,j] : E = sum(k in 0..i+1) x[k,j];
}
