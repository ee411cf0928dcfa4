model softmax_32000 {
  type E = f16;
  input x : E[1024,32000];
  output y = softmax(x);
}
