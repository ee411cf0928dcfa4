model m {
  input x : f32[4];
  y[] = sum(2) x[2];
  z[] = argmax(i, j) x[i];
  w[] = sum(i = 3) x[i];
  output y;
}
