model conv_g32_4 {
  type E = f16;
  input x : E[32,128,56,56];
  param w : E[128,4,3,3];
  param b : E[128];
  output y = relu(conv2d(x, w, b, stride=1, pad=1, dilation=1, groups=32));
}
