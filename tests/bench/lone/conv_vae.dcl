model conv_vae {
  type E = f16;
  input x : E[2,128,256,256];
  param w : E[128,128,3,3];
  param b : E[128];
  output y = relu(conv2d(x, w, b, stride=1, pad=1, dilation=1, groups=1));
}
