// Convolutions whose groups are one channel, and their gradients: windows that
// go on and back, and the weights' gradients, which are sums of tiles.

// the data's: windows that go back, of sizes that no tile divides
model dw_data {
  input d : f16[2, 9, 13, 40];  input w : f16[40, 1, 3, 5];  input b : f16[40];
  output g[n, p in 0..9, q in 0..13, c] : f16 = relu(b[c] + sum(r, s)
      (d[n, p - r + 1, q - s + 2, c] or 0) * w[c, 0, r, s]);
}
model dw_back1 {                 // in one dimension; maxima; a window for each
  input x : f32[3, 21, 16];
  output y[n, p in 0..18, c] = max(r in 0..4) x[n, p - r + 3, c];
  output z[n, p in 0..21, c] = argmax(r in 0..3) (x[n, p - r, c] or -1e9);
  output s[n, p in 0..18, c] = sum(r in 0..4) x[n, p - r + 3, c] * x[n, p + r, c];
}
// the weights': tiles of 8 x 7, of 3 x 13, of stride 2
model dw_weights {
  input x : f16[9, 8, 14, 40];  input d : f16[9, 8, 14, 40];
  output g[c, r in 0..3, s in 0..5] : f32 = sum(n, p, q)
      (x[n, p + r - 1, q + s - 2, c] or 0) * d[n, p, q, c];
}
model dw_uneven {
  input x : f32[6, 9, 13, 36];  input d : f32[6, 9, 13, 36];
  output g[c, r in 0..3, s in 0..2] : f32 = sum(n, p, q)
      (x[n, p - r + 1, q + s, c] or 0) * d[n, p, q, c] + 1;
}
model dw_stride {
  input x : f16[8, 36, 12, 12];  input d : f16[8, 6, 12, 36];
  state w : f32[36, 1, 3, 3];
  g[c, r in 0..3, s in 0..3] : f32 = sum(n, p, q)
      (x[n, c, 2 * p + r - 1, q + s - 1] or 0) * d[n, p, q, c];
  w[c, k, r, s] = w[c, k, r, s] - g[c, r, s] * 0.125;
  output y = w;
}
model dw_line {                  // one dimension, and one sequence
  input x : bf16[1024, 32];  input d : bf16[1024, 32];
  output g[r in 0..4, c] : f32 = sum(p) (x[p - r, c] or 0) * d[p, c];
}
model dw_volume {                // three
  input x : f16[4, 4, 6, 10, 32];  input d : f16[4, 4, 6, 10, 32];
  output g[c, a in 0..2, r in 0..3, s in 0..2] : f32 = sum(n, t, p, q)
      (x[n, t + a, p + r - 1, q + s, c] or 0) * d[n, t, p, q, c];
}
// a step: all of these at once, in blocks
model dw_step {
  dim B = 6;  input x : f16[B, 3, 16, 12];  param e : f16[32, 3, 1, 1];
  param w : f16[32, 1, 3, 3];  param v : f16[32, 1, 5, 5];  param o : f16[8, 32, 1, 1];
  input t : f16[B, 8, 8, 6];
  h = relu6(conv2d(x, e));
  h = h + silu(conv2d(h, w, pad = 1, groups = 32));
  h = silu(conv2d(h, v, stride = 2, pad = 2, groups = 32));
  output loss = mse(conv2d(h, o), t);
  for p in params { p = p - 0.01 * grad(loss * 64, p); }
}

// channels attend to each other: the window's source lies along channels, its
// results along pixels
model dw_turned {
  input x : f16[2, 24, 10, 12]; param a : f16[40, 24, 1, 1]; param w : f16[40, 1, 3, 3];
  d = conv2d(conv2d(x, a), w, pad = 1, groups = 40);
  p = reshape(d, shape = [2, 40, 120]);
  output y[n, i, j] = sum(k) p[n, i, k] * p[n, j, k];
}
