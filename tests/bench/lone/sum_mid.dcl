model sum_mid {
  type E = f16;
  input x : E[64,1024,512];
  output y[a,c] = sum(b) x[a,b,c];
}
