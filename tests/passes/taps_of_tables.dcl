// An image enlarged by tables of places and weights, as importers write one
// whose corners stay: both steps lie as the convolutions beside them.
model taps_of_tables {
  dim B = 2;  type E = f16;
  input x : E[B, 16, 24, 24];
  param w : E[16, 16, 3, 3];  param v : E[32, 16, 3, 3];
  param at : i32[48, 2];  param by : E[48, 2];
  h = conv2d(x, w, pad = 1);
  t[i, j, k, l] : E[B, 16, 48, 24] = sum(r in 0..2) by[k, r] * h[i, j, at[k, r], l];
  u[i, j, k, l] : E[B, 16, 48, 48] = sum(r in 0..2) by[l, r] * t[i, j, k, at[l, r]];
  output y = conv2d(u, v, pad = 1);
}
