model conv_ln_nchw {
  type E = f16;
  input x : E[32,96,56,56];
  param w : E[192,96,2,2];
  param b : E[192];
  param g : E[96];
  param c : E[96];
  m[n,h,q] : f32 = mean(i) x[n,i,h,q];
  v[n,h,q] : f32 = mean(i) (x[n,i,h,q]-m[n,h,q])*(x[n,i,h,q]-m[n,h,q]);
  t[n,i,h,q] : E = (x[n,i,h,q]-m[n,h,q])*rsqrt(v[n,h,q]+1e-6)*g[i]+c[i];
  output y = conv2d(t, w, b, stride=2);
}
