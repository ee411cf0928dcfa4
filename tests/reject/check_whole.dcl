model m {
  input x : f32[4];
  a = x[0];
  b = sum(i) x[i];
  output y = x;
}
