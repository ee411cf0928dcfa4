// Windows along the index that lies together in memory: channels first, and
// signals. What a vector of outputs and all taps read is a row of registers.

model taps {
  input x : f16[2, 3, 10, 24];
  param w : f16[3, 1, 3, 3];
  output y = conv2d(x, w, stride=1, pad=1, groups=3);
  output m = max_pool(x, kernel=3, stride=2, pad=1);
  output a = avg_pool(x, kernel=2, stride=2);
}

// far taps, behind and ahead; the row's own end where nothing guards it
model signals {
  input x : f32[3, 64];
  input h : bf16[2, 5, 80];
  param w : f32[3, 4];
  param u : bf16[5, 7];
  output y[c, t in 0..64] = sum(r) (x[c, t + r - 3] or 0) * w[c, r];
  output z[c, t in 0..40] = sum(r in 0..4) x[c, t + 2 * r + 17] * w[c, r];
  output q[n, c, t in 0..80] : f32 = max(r in 0..7) (h[n, c, t + 5 * r - 15] or -2) * u[c, r];
  output p[n, c, t in 0..24] : f32 = min(r in 0..5) h[n, c, 3 * t + r + 1];
}

// rows of which parts are read, and two inputs of one window
model both {
  input x : f16[4, 16, 32];
  input z : f16[4, 16, 32];
  param w : f16[5, 5];
  output y[c, i in 0..16, j in 0..32] = sum(r, s) ((x[c, i + r - 2, j + s - 2] or 0) * w[r, s] + (z[c, i + r - 2, j + s - 2] or 1));
  output d[c, i, j] = x[c, i, j] - (sum(s in 0..3) (x[c, i, j + s - 1] or 0)) / 3;
}
