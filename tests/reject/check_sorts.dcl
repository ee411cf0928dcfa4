model m {
  dim D = 4;
  type E = f16;
  input x : E[D];
  a[i] = D[i];
  b[i] = x;
  c = E + 1;
  d = x(3);
  e[i] = D(x[i]);
  g = relu;
  output y = a;
}
