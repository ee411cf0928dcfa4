model tri_mult_in {
  type E = f16;
  input a : E[256,256,128];
  input b : E[256,256,128];
  output y[i,j,c] = sum(k) a[k,i,c] * b[k,j,c];
}
