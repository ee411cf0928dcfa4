model relpos_bias {
  type E = f16;
  input s : E[8,12,512,512];
  param t : E[1023,12];
  output y[b,h,i,j] = s[b,h,i,j]+t[i-j+511,h];
}
