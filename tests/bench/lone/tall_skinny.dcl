model tall_skinny {
  type E = f16;
  input a : E[65536,64];
  input b : E[64,64];
  output y[i,k] = sum(j) a[i,j]*b[j,k];
}
