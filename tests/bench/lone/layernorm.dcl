model layernorm {
  type E = f16;
  input x : E[16384,1024];
  param g : E[1024];
  param b : E[1024];
  output y = layer_norm(x, g, b);
}
