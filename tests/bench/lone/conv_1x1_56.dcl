model conv_1x1_56 {
  type E = f16;
  input x : E[32,64,56,56];
  param w : E[256,64,1,1];
  param b : E[256];
  output y = relu(conv2d(x, w, b, stride=1, pad=0, dilation=1, groups=1));
}
