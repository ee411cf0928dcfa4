model m {
  dim A = 99999999999999999999;
  dim B = 12ab;
  input x : f32[A, B];
  output y = x * 1e999 + 1.;
}
