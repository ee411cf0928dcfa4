model spp {
  type E = f16;
  input x : E[16,256,20,20];
  a = max_pool(x, kernel=5, stride=1, pad=2);
  b = max_pool(a, kernel=5, stride=1, pad=2);
  c = max_pool(b, kernel=5, stride=1, pad=2);
  output y = concat(x, a, b, c, axis=1);
}
