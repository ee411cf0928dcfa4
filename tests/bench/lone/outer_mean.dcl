model outer_mean {
  type E = f16;
  input a : E[128,256,32];
  input b : E[128,256,32];
  output y[i,j,c,d] = sum(s) a[s,i,c] * b[s,j,d];
}
