model avgpool_2 {
  type E = f16;
  input x : E[32,128,64,64];
  output y = avg_pool(x, kernel=2);
}
