model bmm_bji_bjk {
  type E = f16;
  input a : E[64,512,512];
  input b : E[64,512,512];
  output y[n,i,k] = sum(j) a[n,j,i] * b[n,j,k];
}
