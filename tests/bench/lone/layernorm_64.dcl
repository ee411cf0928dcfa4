model layernorm_64 {
  type E = f16;
  input x : E[262144,64];
  param g : E[64];
  param b : E[64];
  output y = layer_norm(x, g, b);
}
