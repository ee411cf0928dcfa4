model m {
  input x : f32[4];
  output y = f(i in 0..3, ..);
}
