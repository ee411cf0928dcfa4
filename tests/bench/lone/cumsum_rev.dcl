model cumsum_rev {
  type E = f16;
  input x : E[8192,4096];
  output y[i,j in 0..4096] : E = sum(k in j..4096) x[i,k];
}
