model m {
  input x : f32[4];
  y[i] = (x[i] + 3;
  output y;
}
