model conv_1x1_17 {
  type E = f16;
  input x : E[32,768,17,17];
  param w : E[192,768,1,1];
  param b : E[192];
  output y = relu(conv2d(x, w, b, stride=1, pad=0, dilation=1, groups=1));
}
