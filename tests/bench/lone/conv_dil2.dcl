model conv_dil2 {
  type E = f16;
  input x : E[8,256,60,60];
  param w : E[256,256,3,3];
  param b : E[256];
  output y = relu(conv2d(x, w, b, stride=1, pad=2, dilation=2, groups=1));
}
