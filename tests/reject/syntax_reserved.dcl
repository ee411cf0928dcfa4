model m {
  input in : f32[4];
  output y = x;
}
