model conv_stem7 {
  type E = f16;
  input x : E[32,3,224,224];
  param w : E[64,3,7,7];
  param b : E[64];
  output y = relu(conv2d(x, w, b, stride=2, pad=3, dilation=1, groups=1));
}
