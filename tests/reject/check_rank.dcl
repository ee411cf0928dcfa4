model m {
  input x : f32[4, 5];
  a[i] = x[i];
  b[i, j] = x[i, j, 0];
  c[i] : f32[4, 5] = x[i, 0];
  state s : f32[4];
  s[i, j] = x[i, j];
  output y = x;
}
