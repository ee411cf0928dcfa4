model layernorm_nchw {
  type E = f16;
  input x : E[32,96,56,56];
  param g : E[96];
  param b : E[96];
  m[n,h,w] : f32 = mean(c) x[n,c,h,w];
  v[n,h,w] : f32 = mean(c) (x[n,c,h,w]-m[n,h,w])*(x[n,c,h,w]-m[n,h,w]);
  output y[n,c,h,w] : E = (x[n,c,h,w]-m[n,h,w])*rsqrt(v[n,h,w]+1e-6)*g[c]+b[c];
}
