model dw_7x7 {
  type E = f16;
  input x : E[32,96,56,56];
  param w : E[96,1,7,7];
  param b : E[96];
  output y = relu(conv2d(x, w, b, stride=1, pad=3, dilation=1, groups=96));
}
