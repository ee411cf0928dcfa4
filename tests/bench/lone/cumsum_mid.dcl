model cumsum_mid {
  type E = f16;
  input x : E[32,1024,1024];
  output y[n,i in 0..1024,j] : E = sum(k in 0..i+1) x[n,k,j];
}
