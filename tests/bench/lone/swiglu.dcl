model swiglu {
  type E = f16;
  input x : E[4096,1024];
  param w1 : E[2816,1024];
  param w3 : E[2816,1024];
  param w2 : E[1024,2816];
  output y = linear(silu(linear(x, w1))*linear(x, w3), w2);
}
