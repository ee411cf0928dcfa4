model argmax_nchw {
  type E = f16;
  input x : E[8,21,512,512];
  output y[n,h,w] = argmax(c) x[n,c,h,w];
}
