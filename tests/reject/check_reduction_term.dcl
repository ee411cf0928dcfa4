model m {
  input x : f32[4, 4];
  y[i] = prod(j) + x[i, 0];
  output y;
}
