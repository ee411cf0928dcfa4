model conv_patch16 {
  type E = f16;
  input x : E[32,3,224,224];
  param w : E[768,3,16,16];
  param b : E[768];
  output y = relu(conv2d(x, w, b, stride=16, pad=0, dilation=1, groups=1));
}
