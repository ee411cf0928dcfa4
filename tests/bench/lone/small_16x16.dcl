model small_16x16 {
  type E = f16;
  input a : E[32768,16,16];
  input b : E[32768,16,16];
  output y[n,i,k] = sum(j) a[n,i,j]*b[n,j,k];
}
