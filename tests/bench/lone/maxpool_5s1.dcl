model maxpool_5s1 {
  type E = f16;
  input x : E[32,256,40,40];
  output y = max_pool(x, kernel=5, stride=1, pad=2);
}
