model conv_g32_16 {
  type E = f16;
  input x : E[32,512,14,14];
  param w : E[512,16,3,3];
  param b : E[512];
  output y = relu(conv2d(x, w, b, stride=1, pad=1, dilation=1, groups=32));
}
