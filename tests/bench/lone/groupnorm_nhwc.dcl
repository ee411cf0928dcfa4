model groupnorm_nhwc {
  type E = f16;
  input x : E[16,64,64,256];
  param g : E[256];
  param b : E[256];
  t[n,c,h,w] = x[n,h,w,c];
  u = silu(group_norm(t, g, b, groups=32));
  output y[n,h,w,c] = u[n,c,h,w];
}
