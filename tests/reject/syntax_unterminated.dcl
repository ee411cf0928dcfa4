model m {
  param w : f32[4] = "fc.weight;
  output y = w * 2;
}
