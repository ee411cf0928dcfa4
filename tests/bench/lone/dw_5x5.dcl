model dw_5x5 {
  type E = f16;
  input x : E[32,672,14,14];
  param w : E[672,1,5,5];
  param b : E[672];
  output y = relu(conv2d(x, w, b, stride=1, pad=2, dilation=1, groups=672));
}
