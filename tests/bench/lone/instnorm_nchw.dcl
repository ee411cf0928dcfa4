model instnorm_nchw {
  type E = f16;
  input x : E[16,128,128,128];
  param g : E[128];
  param b : E[128];
  output y = relu(instance_norm(x, g, b));
}
