model softmax_mid {
  type E = f16;
  input x : E[32,512,1024];
  output y = softmax(x, axis=1);
}
