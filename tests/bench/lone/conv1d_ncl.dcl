model conv1d_ncl {
  type E = f16;
  input x : E[16,512,1500];
  param w : E[512,512,3];
  param b : E[512];
  output y = gelu(conv1d(x, w, b, pad=1));
}
