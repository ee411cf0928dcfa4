model m {
  param w : f32[4] = fc;
  output y = w;
}
