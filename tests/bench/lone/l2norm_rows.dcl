model l2norm_rows {
  type E = f16;
  input x : E[32768,512];
  s[i] : f32 = sum(j) f32(x[i,j])*x[i,j];
  output y[i,j] : E = x[i,j]*rsqrt(max(s[i],1e-12));
}
