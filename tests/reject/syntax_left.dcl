model m {
  input x : f32[4];
  y[i = 3] = x[i];
  z[i, = x[i];
  output y;
}
