model logsoftmax_50257 {
  type E = f16;
  input x : E[1024,50257];
  output y = log_softmax(x);
}
