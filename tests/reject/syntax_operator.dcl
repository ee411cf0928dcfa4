model m {
  input x : f32[4];
  y[i] = scale(x[i]) x[i];
  z[i] = 2 * * x[i];
  output y;
}
