model m {
  dim B = 3
  input x : f32[B, 4];
  h = x * 2
  output y = h;
}
