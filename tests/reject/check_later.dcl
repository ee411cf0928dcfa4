model m {
  input x : f32[4];
  h = x * g;
  g = x + 1;
  output y = h * g;
}
