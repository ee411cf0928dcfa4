model layernorm_nchw768 {
  type E = f16;
  input x : E[64,768,14,14];
  param g : E[768];
  param b : E[768];
  m[n,h,w] : f32 = mean(c) x[n,c,h,w];
  v[n,h,w] : f32 = mean(c) (x[n,c,h,w]-m[n,h,w])*(x[n,c,h,w]-m[n,h,w]);
  output y[n,c,h,w] : E = (x[n,c,h,w]-m[n,h,w])*rsqrt(v[n,h,w]+1e-6)*g[c]+b[c];
}
