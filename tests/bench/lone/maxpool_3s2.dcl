model maxpool_3s2 {
  type E = f16;
  input x : E[32,64,112,112];
  output y = max_pool(x, kernel=3, stride=2, pad=1);
}
