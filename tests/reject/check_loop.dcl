model m {
  input x : f32[4];
  for l in 0..3 {
    param w : f32[4] = "w.{l}";
    x2 = x * w;
  }
  output y = x;
}
