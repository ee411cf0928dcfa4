// Sums over pixels, as gradients of weights are: channels last, a window's
// taps among the rows or the columns.
model taps {
  input x : f16[3, 7, 9, 64];  input d : f16[3, 7, 9, 72];
  output w[k, r in 0..3, s in 0..3, c] : f32 = sum(n, p, q)
      (x[n, p + r - 1, q + s - 1, c] or 0) * d[n, p, q, k];
}
model strides {
  input x : f16[2, 9, 12, 64];  input d : f16[2, 5, 6, 40];
  output w[k, r in 0..3, s in 0..3, c] : f32 = sum(n, p, q)
      (x[n, p * 2 + r - 1, q * 2 + s - 1, c] or 0) * d[n, p, q, k];
  output v[k, c] : f32 = sum(n, p, q) x[n, p * 2, q * 2, c] * d[n, p, q, k];
}
model rows {                     // the windows are a's
  input x : f16[2, 8, 8, 128];  input d : f16[2, 8, 8, 64];
  output w[r in 0..3, s in 0..2, c, k] : f32 = sum(n, p, q)
      (x[n, p + 2 * r - 2, q + s, c] or 0) * d[n, p, q, k];
}
model line {                     // one dimension; one image
  input x : bf16[150, 64];  input d : bf16[150, 32];
  output w[k, r in 0..5, c] : f32 = sum(p) (x[p + r - 2, c] or 0) * d[p, k];
}
model volume {                   // three, and weights that are trained
  dim L = 5;
  input x : f16[2, L, L, L, 64];  input d : f16[2, L, L, L, 32];
  state w : f32[32, 2, 2, 2, 64];
  g[k, e in 0..2, r in 0..2, s in 0..2, c] : f32 = sum(n, z, p, q)
      (x[n, z + e, p + r, q + s, c] or 0) * d[n, z, p, q, k];
  w[k, e, r, s, c] = w[k, e, r, s, c] - g[k, e, r, s, c] * 0.125;
  output y = w;
}
model long {                     // few results of many terms
  input x : f16[4, 32, 32, 64];  input d : f16[4, 32, 32, 64];
  output w[k, r in 0..3, c] : f32 = sum(n, p, q)
      (x[n, p, q + r - 1, c] or 0) * d[n, p, q, k];
  output v[k, c] : f32 = sum(n, p, q) x[n, p, q, c] * d[n, p, q, k];
}
