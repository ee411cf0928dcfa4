// A window and the product that takes it, as one kernel (flavour chain-window).
// Rows, columns and terms that are no whole tiles, images of several, strides.
model window_3x3 {
  input x : f16[2, 9, 11, 24];  input r : f16[2, 9, 11, 20];
  param w : f16[24, 3, 3];      param g : f32[24];  param b : f32[24];
  param v : f16[20, 24];
  d[n, p in 0..9, q in 0..11, c] : f16 =
    relu6((sum(r, s) (x[n, p + r - 1, q + s - 1, c] or 0) * w[c, r, s]) * g[c] + b[c]);
  output y[n, p, q, k] : f16 = (sum(c) d[n, p, q, c] * v[k, c]) + r[n, p, q, k];
}
// The other factor is no weight, and there is nothing behind the window.
model window_5x5 {
  input x : bf16[1, 30, 29, 40];
  param w : bf16[40, 5, 5];
  input v : bf16[33, 40];
  d[p in 0..15, q in 0..15, c] : bf16 =
    sum(r, s) (x[0, 2 * p + r - 2, 2 * q + s - 2, c] or 0) * w[c, r, s];
  output y = relu(linear(d, v));
}
model window_max {
  input x : f16[17, 13, 72];
  param v : f16[48, 72];
  d[p in 0..17, q in 0..13, c] : f16 =
    max(r in 0..3, s in 0..3) (x[p + r - 1, q + s - 1, c] or -inf);
  output y = linear(d, v);
}
model window_line {
  input x : f16[3, 50, 200];
  param w : f16[7, 200];
  param v : f16[96, 200];  param b : f16[96];
  d[n, t in 0..44, c] : f16 = gelu(sum(r) x[n, t + r, c] * w[r, c]);
  output y = linear(d, v, b);
}
// As networks have it: channels in groups, an image's rows behind them.
model window_network {
  input x : f16[2, 12, 9, 7];
  param e : f16[48, 12, 1, 1];  param w : f16[48, 1, 3, 3];  param v : f16[24, 48, 1, 1];
  h = relu(conv2d(x, e));
  h = relu(conv2d(h, w, pad = 1, stride = 2, groups = 48));
  output y = avg_pool(conv2d(h, v), kernel = 2);
}
