model conv_t2 {
  type E = f16;
  input x : E[16,128,64,64];
  param w : E[128,64,2,2];
  param b : E[64];
  output y = conv_transpose2d(x, w, b, stride=2);
}
