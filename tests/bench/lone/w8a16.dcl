model w8a16 {
  type E = f16;
  input x : E[512,4096];
  input q : i8[4096,4096];
  input s : E[4096];
  output y[i,j] : E = (sum(k) x[i,k]*q[j,k])*s[j];
}
