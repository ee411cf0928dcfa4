model groupnorm_nchw {
  type E = f16;
  input x : E[16,256,64,64];
  param g : E[256];
  param b : E[256];
  output y = silu(group_norm(x, g, b, groups=32));
}
