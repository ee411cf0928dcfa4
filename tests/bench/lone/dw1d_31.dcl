model dw1d_31 {
  type E = f16;
  input x : E[16,512,1600];
  param w : E[512,1,31];
  output y = conv1d(x, w, pad=15, groups=512);
}
