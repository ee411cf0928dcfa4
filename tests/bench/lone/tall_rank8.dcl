model tall_rank8 {
  type E = f16;
  input a : E[65536,512];
  input b : E[8,512];
  output y[i,k] = sum(j) a[i,j]*b[k,j];
}
