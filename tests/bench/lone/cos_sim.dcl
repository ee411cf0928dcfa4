model cos_sim {
  type E = f16;
  input a : E[4096,256];
  input b : E[4096,256];
  na[i] : f32 = rsqrt(sum(c) f32(a[i,c])*a[i,c]);
  nb[j] : f32 = rsqrt(sum(c) f32(b[j,c])*b[j,c]);
  output y[i,j] : E = (sum(c) a[i,c]*b[j,c]) * na[i] * nb[j];
}
