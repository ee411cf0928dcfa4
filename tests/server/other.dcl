model other {
  input x : f32[8, 32];
  param w : f32[16, 32];
  output y = linear(x, w);
}
