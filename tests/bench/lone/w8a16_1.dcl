model w8a16_1 {
  type E = f16;
  input x : E[1,4096];
  input q : i8[16384,4096];
  input s : E[16384];
  output y[i,j] : E = (sum(k) x[i,k]*q[j,k])*s[j];
}
