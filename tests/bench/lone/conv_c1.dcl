model conv_c1 {
  type E = f16;
  input x : E[16,1,512,512];
  param w : E[32,1,3,3];
  param b : E[32];
  output y = relu(conv2d(x, w, b, stride=1, pad=1, dilation=1, groups=1));
}
