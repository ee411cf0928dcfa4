model m {
  dim D = 4;
  dim D = 5;
  input x : f32[D];
  D = x;
  for D in 0..3 { }
  output y = x;
}
