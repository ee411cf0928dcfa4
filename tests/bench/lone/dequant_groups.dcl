model dequant_groups {
  type E = f16;
  input q : i8[4096,4096];
  input s : E[4096,32];
  output y[i,j] : E = q[i,j]*s[i,j/128];
}
