model m {
  input x : f32[4];
  y[i] = x[i] > 0 ? x[i];
  output y;
}
