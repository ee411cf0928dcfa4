model conv_1x7 {
  type E = f16;
  input x : E[32,128,17,17];
  param w : E[128,128,1,7];
  param b : E[128];
  output y = relu(conv2d(x, w, b, stride=1, pad=0, dilation=1, groups=1));
}
