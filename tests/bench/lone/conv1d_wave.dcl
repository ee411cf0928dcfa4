model conv1d_wave {
  type E = f16;
  input x : E[16,1,160000];
  param w : E[512,1,10];
  output y = gelu(conv1d(x, w, stride=5));
}
