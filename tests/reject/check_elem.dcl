model m {
  input x : f23[4];
  input z : E[4];
  output y = x;
}
