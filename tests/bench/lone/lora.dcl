model lora {
  type E = f16;
  input x : E[4096,2048];
  param w : E[2048,2048];
  param a : E[16,2048];
  param b : E[2048,16];
  h = linear(x, a);
  output y = linear(x, w) + linear(h, b) * 2.0;
}
