model dw_3x3 {
  type E = f16;
  input x : E[32,144,56,56];
  param w : E[144,1,3,3];
  param b : E[144];
  output y = relu(conv2d(x, w, b, stride=1, pad=1, dilation=1, groups=144));
}
