model m {
  input x : f32[4];
  y[i] = 0 < x[i] < 1;
  output y;
}
