model softmax_nchw21 {
  type E = f16;
  input x : E[8,21,512,512];
  output y = softmax(x, axis=1);
}
