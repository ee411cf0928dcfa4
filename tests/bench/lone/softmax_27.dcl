model softmax_27 {
  type E = f16;
  input x : E[524288,27];
  output y = softmax(x);
}
