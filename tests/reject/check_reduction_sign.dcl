model m {
  input l : f32[4, 8];
  output y[] = 3 * sum(b, j) -0.5 * (1 + l[b, j]);
  output z[i] = l[i, 0] - max(k) -l[i, k];
}
