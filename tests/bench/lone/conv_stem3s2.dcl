model conv_stem3s2 {
  type E = f16;
  input x : E[64,3,224,224];
  param w : E[32,3,3,3];
  param b : E[32];
  output y = relu(conv2d(x, w, b, stride=2, pad=1, dilation=1, groups=1));
}
