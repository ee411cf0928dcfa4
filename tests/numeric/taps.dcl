// Weights' gradients of first layers: a window over a few channels, sums over
// its pixels, side by side along the channels of the gradient.
model taps_7x7 { input x : f16[2, 3, 32, 48]; input g : f16[2, 16, 24, 64];
  output w[c in 0..3, r in 0..7, s in 0..7, k] = sum(n, p, q) (x[n, c, 2 * p + r - 3, 2 * q + s - 3] or 0) * g[n, p, q, k]; }
model taps_3x3 { input x : f16[3, 3, 20, 24]; input g : f16[3, 20, 24, 40];
  output w[c in 0..3, r in 0..3, s in 0..3, k] = sum(n, p, q) (x[n, c, p + r - 1, q + s - 1] or 0) * g[n, p, q, k]; }
model taps_stride { input x : bf16[2, 3, 18, 26]; input g : bf16[2, 9, 13, 24];
  output w[r in 0..3, s in 0..3, c in 0..3, k] = sum(n, p, q) (x[n, c, 2 * p + r - 1, 2 * q + s - 1] or 0) * g[n, p, q, k]; }
model taps_step_3 { input x : f16[2, 2, 31, 46]; param o : f16[2, 2, 5, 72]; input g : f16[2, 9, 14, 72];
  output w[c in 0..2, r in 0..2, s in 0..5, k] = o[c, r, s, k] - 0.5 * sum(n, p, q) x[n, c, 3 * p + 2 * r, 3 * q + s] * g[n, p, q, k]; }
model taps_1d { input x : f16[3, 2, 640]; input g : f16[3, 640, 24];
  output w[c in 0..2, s in 0..11, k] = relu(sum(n, q) (x[n, c, q + s - 5] or 0) * g[n, q, k]); }
model taps_last { input x : f16[2, 30, 40, 3]; input g : f16[2, 15, 20, 40];
  output w[r in 0..7, s in 0..7, c in 0..3, k] = sum(n, p, q) (x[n, 2 * p + r - 3, 2 * q + s - 3, c] or 0) * g[n, p, q, k]; }
// The step of a first layer.
model taps_step { dim B = 2; input x : f16[B, 3, 30, 32]; param w : f16[48, 3, 7, 7];
  input t : f16[B, 48, 15, 16]; input rate : f32;
  y = conv2d(x, w, stride = 2, pad = 3); output loss = mse(y, t);
  for v in params { v = v - rate * grad(loss, v); } }
