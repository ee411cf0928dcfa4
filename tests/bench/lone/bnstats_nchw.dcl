model bnstats_nchw {
  type E = f16;
  input x : E[32,128,64,64];
  m[c] : f32 = mean(n,h,w) x[n,c,h,w];
  v[c] : f32 = mean(n,h,w) (x[n,c,h,w]-m[c])*(x[n,c,h,w]-m[c]);
  output y[n,c,h,w] : E = (x[n,c,h,w]-m[c])*rsqrt(v[c]+1e-5);
}
