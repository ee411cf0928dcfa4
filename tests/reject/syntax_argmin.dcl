model m {
  input x : f32[4, 4];
  y[] = argmin(i, j) x[i, j];
  output y;
}
