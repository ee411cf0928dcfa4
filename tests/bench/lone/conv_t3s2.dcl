model conv_t3s2 {
  type E = f16;
  input x : E[16,256,32,32];
  param w : E[256,128,3,3];
  param b : E[128];
  output y = conv_transpose2d(x, w, b, stride=2, pad=1, extra=1);
}
