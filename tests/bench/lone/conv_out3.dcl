model conv_out3 {
  type E = f16;
  input x : E[8,64,256,256];
  param w : E[3,64,3,3];
  param b : E[3];
  output y = relu(conv2d(x, w, b, stride=1, pad=1, dilation=1, groups=1));
}
