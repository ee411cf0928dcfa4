model conv_3x3_57 {
  type E = f16;
  input x : E[16,128,57,57];
  param w : E[128,128,3,3];
  param b : E[128];
  output y = relu(conv2d(x, w, b, stride=1, pad=1, dilation=1, groups=1));
}
