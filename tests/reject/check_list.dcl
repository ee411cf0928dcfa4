model m {
  input x : f32[4];
  y = x + [1, 2];
  output z = y;
}
