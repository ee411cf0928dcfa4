model cummax_last {
  type E = f16;
  input x : E[8192,4096];
  output y[i,j in 0..4096] : E = max(k in 0..j+1) x[i,k];
}
