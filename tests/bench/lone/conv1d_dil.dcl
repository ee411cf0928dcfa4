model conv1d_dil {
  type E = f16;
  input x : E[16,128,8192];
  param w : E[128,128,3];
  param b : E[128];
  output y = relu(conv1d(x, w, b, pad=8, dilation=8));
}
