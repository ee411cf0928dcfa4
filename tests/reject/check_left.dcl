model m {
  input x : f32[4];
  input pos : i32;
  state s : f32[4];
  a[0] = 3;
  b[pos] = 3;
  for l in 0..3 { c[l] = x[l]; }
  s[pos % 4] = x[0];
  output y = x;
}
