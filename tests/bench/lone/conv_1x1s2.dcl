model conv_1x1s2 {
  type E = f16;
  input x : E[32,256,56,56];
  param w : E[512,256,1,1];
  param b : E[512];
  output y = relu(conv2d(x, w, b, stride=2, pad=0, dilation=1, groups=1));
}
