// ranks, ranges and shapes that do not agree
model ranks {
  input x : f32[8, 4];
  input y : f32[4, 3];
  input s : f32;
  c[i, j] = x[i, j] * y[i, j];
  d[i] = sum(k) x[i, k] * y[k, 0] + sum(k) x[k, 0] * y[k, 0];
  f[q] = s;
  m[i in 0..3] : f32[4] = x[i, 0];
  o[i in 1..4] = x[i, 0];
  p[i in 0..0] = x[i, 0];
  q[i] = sum(k in 3..3) x[i, k];
  t = x + y;
  u : f32[3] = x;
  v : f32[3] = x + 1;
  w = x + sum(y, axis = 0);
  a = t + 1;
  z[i, j, k, l, m, n, o, p, q] = x[i, j];
  output out = x;
}
