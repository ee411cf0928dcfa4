model tri_mult_out {
  type E = f16;
  input a : E[256,256,128];
  input b : E[256,256,128];
  output y[i,j,c] = sum(k) a[i,k,c] * b[j,k,c];
}
