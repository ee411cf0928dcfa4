model conv_g32_8 {
  type E = f16;
  input x : E[32,256,28,28];
  param w : E[256,8,3,3];
  param b : E[256];
  output y = relu(conv2d(x, w, b, stride=1, pad=1, dilation=1, groups=32));
}
