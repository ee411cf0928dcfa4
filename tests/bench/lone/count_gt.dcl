model count_gt {
  type E = f16;
  input x : E[8192,8192];
  output y[] = sum(i,j) (x[i,j] > 0);
}
