model m {
  input x : f32[4];
  param w : f32[4];
  y[i] = x[i] * w[i];
  for w in parameters { w = w * 2; }
  output y;
}
