model conv_1x1_7 {
  type E = f16;
  input x : E[64,1024,7,7];
  param w : E[2048,1024,1,1];
  param b : E[2048];
  output y = relu(conv2d(x, w, b, stride=1, pad=0, dilation=1, groups=1));
}
