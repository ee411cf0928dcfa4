model dequant {
  type E = f16;
  input q : i8[8192,4096];
  input s : f32[8192];
  output y[i,j] : E = q[i,j]*s[i];
}
