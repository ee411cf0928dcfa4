model sum_all {
  type E = f16;
  input x : E[8192,8192];
  output y[] : f32 = sum(i,j) x[i,j];
}
