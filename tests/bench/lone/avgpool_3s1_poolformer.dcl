model avgpool_3s1_poolformer {
  type E = f16;
  input x : E[32,192,56,56];
  output y = avg_pool(x, kernel=3, stride=1, pad=1, count_include_pad=false) - x;
}
