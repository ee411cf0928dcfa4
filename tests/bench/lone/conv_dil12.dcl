model conv_dil12 {
  type E = f16;
  input x : E[4,512,33,33];
  param w : E[256,512,3,3];
  param b : E[256];
  output y = relu(conv2d(x, w, b, stride=1, pad=12, dilation=12, groups=1));
}
