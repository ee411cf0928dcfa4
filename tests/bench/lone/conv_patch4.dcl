model conv_patch4 {
  type E = f16;
  input x : E[32,3,224,224];
  param w : E[96,3,4,4];
  param b : E[96];
  output y = relu(conv2d(x, w, b, stride=4, pad=0, dilation=1, groups=1));
}
