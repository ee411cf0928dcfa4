model conv_g2_1x1 {
  type E = f16;
  input x : E[32,256,28,28];
  param w : E[256,128,1,1];
  param b : E[256];
  output y = relu(conv2d(x, w, b, stride=1, pad=0, dilation=1, groups=2));
}
