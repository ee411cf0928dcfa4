model softmax_short {
  type E = f16;
  input x : E[1048576,16];
  output y = softmax(x);
}
