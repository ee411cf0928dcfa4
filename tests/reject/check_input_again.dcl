model m {
  input x : f32[4];
  param w : f32[4];
  x = x * 2;
  w = x;
  input x : f32[5];
  output y = x;
}
