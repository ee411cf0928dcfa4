model dw_3x3s2 {
  type E = f16;
  input x : E[32,144,112,112];
  param w : E[144,1,3,3];
  param b : E[144];
  output y = relu(conv2d(x, w, b, stride=2, pad=1, dilation=1, groups=144));
}
