model conv_3x3_35 {
  type E = f16;
  input x : E[32,96,35,35];
  param w : E[96,96,3,3];
  param b : E[96];
  output y = relu(conv2d(x, w, b, stride=1, pad=1, dilation=1, groups=1));
}
