model m {
  input x : f32[4];
  y = x * 2;
}
