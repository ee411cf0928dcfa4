model m {
  input x : f32[4] in 0..3;
  output y = x;
}
