model small_8x8 {
  type E = f16;
  input a : E[65536,8,8];
  input b : E[65536,8,8];
  output y[n,i,k] = sum(j) a[n,i,j]*b[n,j,k];
}
