model softmax_first {
  type E = f16;
  input x : E[512,16384];
  output y = softmax(x, axis=0);
}
