model bnstats_nhwc {
  type E = f16;
  input x : E[32,64,64,128];
  m[c] : f32 = mean(n,h,w) x[n,h,w,c];
  v[c] : f32 = mean(n,h,w) (x[n,h,w,c]-m[c])*(x[n,h,w,c]-m[c]);
  output y[n,h,w,c] : E = (x[n,h,w,c]-m[c])*rsqrt(v[c]+1e-5);
}
