model m {
  input x : f32[4];
  h = x * 2;
  h = x * 3;
  output y = h;
}
