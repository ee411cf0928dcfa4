model m {
  input x : f32[4];
  x[0] = 1;
  output t[0] = x[0];
  t[1] = x[1];
  u[i] = x[i];
  u[i] = x[i] * 2;
  v : f32[9] = 0; v[p] = x[p]; v[2 * p] = x[p];
  w[0] = w[1];
  output y = x;
}
