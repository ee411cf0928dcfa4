model l2norm_nchw {
  type E = f16;
  input x : E[16,256,64,64];
  s[n,h,w] : f32 = sum(c) f32(x[n,c,h,w])*x[n,c,h,w];
  output y[n,c,h,w] : E = x[n,c,h,w]*rsqrt(max(s[n,h,w],1e-12));
}
