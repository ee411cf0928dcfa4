model quant_rows {
  type E = f16;
  input x : E[4096,4096];
  m[i] : f32 = max(j) abs(f32(x[i,j]));
  output s[i] : f32 = m[i]/127;
  output q[i,j] : i8 = i8(rint(x[i,j]/max(s[i],1e-8)));
}
