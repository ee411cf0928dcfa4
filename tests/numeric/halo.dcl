// First layers: convolutions of a few channels, rows of the input along the
// window's taps, channels of the result side by side.
model halo_7x7 { input x : f16[2, 3, 32, 48]; param w : f16[64, 3, 7, 7]; param b : f16[64];
  output y[n, p in 0..16, q in 0..24, k] = relu(b[k] + sum(c, r, s) (x[n, c, 2 * p + r - 3, 2 * q + s - 3] or 0) * w[k, c, r, s]); }
model halo_3x3 { input x : f16[1, 3, 20, 24]; param w : f16[40, 3, 3, 3]; param b : f16[40];
  output y[n, p in 0..20, q in 0..24, k] = relu(b[k] + sum(c, r, s) (x[n, c, p + r - 1, q + s - 1] or 0) * w[k, c, r, s]); }
model halo_3x3_stride { input x : bf16[2, 3, 18, 26]; param w : bf16[24, 3, 3, 3];
  output y[n, p in 0..9, q in 0..13, k] = sum(c, r, s) (x[n, c, 2 * p + r - 1, 2 * q + s - 1] or 0) * w[k, c, r, s]; }
model halo_5x5 { input x : f16[1, 1, 15, 20]; param w : f16[16, 1, 5, 5];
  output y[n, p in 0..11, q in 0..16, k] = sum(c, r, s) x[n, c, p + r, q + s] * w[k, c, r, s]; }
model halo_dilated { input x : f16[1, 4, 24, 16]; param w : f16[72, 4, 3, 3];
  output y[n, p in 0..24, q in 0..16, k] = sum(c, r, s) (x[n, c, p + 2 * r - 2, q + s - 1] or 0) * w[k, c, r, s]; }
model halo_wide_step { input x : f16[1, 3, 16, 32]; param w : f16[16, 3, 4, 4];
  output y[n, p in 0..4, q in 0..8, k] = sum(c, r, s) x[n, c, 4 * p + r, 4 * q + s] * w[k, c, r, s]; }
model halo_other_type { input x : f16[1, 3, 20, 24]; param w : f16[40, 3, 3, 3];
  output y[n, p in 0..20, q in 0..24, k] : bf16 = sum(c, r, s) (x[n, c, p + r - 1, q + s - 1] or 0) * w[k, c, r, s]; }
model halo_1d { input x : f16[3, 2, 64]; param w : f16[24, 2, 5];
  output y[n, q in 0..64, k] = sum(c, s) (x[n, c, q + s - 2] or 0) * w[k, c, s]; }
model halo_chain {
  input x : f16[1, 3, 24, 32];
  param w : f16[32, 3, 7, 7];
  param w2 : f16[32, 32, 1, 1];
  h = relu(conv2d(x, w, stride = 2, pad = 3));
  output y = conv2d(h, w2);
}
// The same with rows of the result along the pixels.
model halo_rows_7x7 { input x : f16[2, 3, 32, 48]; param w : f16[40, 3, 7, 7]; param b : f16[40]; output y = relu(conv2d(x, w, b, stride = 2, pad = 3)); }
model halo_rows_3x3 { input x : f16[1, 3, 20, 24]; param w : f16[40, 3, 3, 3]; param b : f16[40]; output y = relu(conv2d(x, w, b, pad = 1)); }
model halo_rows_stride { input x : bf16[2, 3, 18, 26]; param w : bf16[24, 3, 3, 3]; output y = conv2d(x, w, pad = 1, stride = 2); }
model halo_rows_1d { input x : f16[3, 2, 64]; param w : f16[24, 2, 5]; output y = conv1d(x, w, pad = 2); }
// Channels innermost: a column and its channels are one dimension of the input,
// a row of taps is a run of taps times channels.
op last(x: T[N, H, W, C], w: T[K, R, S, C], b: T[K] = 0; stride = 1, pad = 0)
    -> y: T[N, (H + 2 * pad - R) / stride + 1, (W + 2 * pad - S) / stride + 1, K] {
  y[n, p, q, k] = b[k] + sum(r, s, c) (x[n, p * stride + r - pad, q * stride + s - pad, c] or 0) * w[k, r, s, c];
}
model halo_last_7x7 { input x : f16[2, 30, 40, 3]; param w : f16[40, 7, 7, 3]; param b : f16[40]; output y = relu(last(x, w, b, stride = 2, pad = 3)); }
model halo_last_3x3 { input x : bf16[1, 19, 24, 3]; param w : bf16[24, 3, 3, 3]; output y = last(x, w, pad = 1); }
model halo_last_four { input x : f16[1, 13, 18, 4]; param w : f16[32, 5, 3, 4]; output y = last(x, w, stride = 2, pad = 1); }
model halo_last_two { input x : f16[2, 12, 15, 2]; param w : f16[16, 3, 5, 2]; output y = relu(last(x, w)); }
model halo_last_one { input x : f16[2, 12, 16, 1]; param w : f16[72, 3, 3, 1]; output y = last(x, w, pad = 1); }
model halo_last_1d { input x : f16[3, 40, 3]; param w : f16[24, 5, 3];
  output y[n, q in 0..40, k] = sum(s, c) (x[n, q + s - 2, c] or 0) * w[k, s, c]; }
model halo_last_part { input x : f16[1, 12, 16, 6]; param w : f16[16, 3, 3, 3];
  output y[n, p in 0..12, q in 0..16, k] = sum(r, s, c in 0..3) (x[n, p + r - 1, q + s - 1, c] or 0) * w[k, r, s, c]; }
model halo_last_chain {
  input x : f16[1, 24, 32, 3];
  param w : f16[32, 5, 5, 3];
  param w2 : f16[8, 1, 1, 32];
  h = last(x, w, stride = 2, pad = 2);
  output y = last(relu(h), w2);
}
// More channels, in pieces of 8: pixels that lie apart, those of a stride by
// turns, an even and an odd number of pieces.
model halo_wide_3x3 { input x : f16[2, 13, 18, 32]; param w : f16[40, 3, 3, 32]; param b : f16[40]; output y = relu(last(x, w, b, pad = 1)); }
model halo_wide_stride { input x : f16[1, 19, 22, 24]; param w : f16[24, 3, 3, 24]; output y = last(x, w, stride = 2, pad = 1); }
model halo_wide_5x3 { input x : bf16[1, 12, 11, 16]; param w : bf16[72, 5, 3, 16]; param b : bf16[72]; output y = last(x, w, b, stride = 3, pad = 2); }
model halo_wide_1d { input x : f16[3, 40, 48]; param w : f16[16, 5, 48];
  output y[n, q in 0..40, k] = sum(s, c) (x[n, q + s - 2, c] or 0) * w[k, s, c]; }
model halo_wide_turned { input x : f16[1, 9, 14, 16]; param w : f16[16, 3, 3, 24];
  output y[n, p in 0..9, q in 0..14, k] = sum(r, s, c) (x[n, p + r - 1, q + s - 1, c] or 0) * w[c, r, s, k]; }
model halo_wide_dilated { input x : f16[1, 14, 16, 40]; param w : f16[32, 3, 3, 40];
  output y[n, p in 0..10, q in 0..14, k] = sum(r, s, c) x[n, p + 2 * r, q + s, c] * w[k, r, s, c]; }
// Taps that lie apart along the row, too; of a stride, some by turns.
model halo_apart { input x : f16[2, 14, 21, 16]; param w : f16[24, 3, 3, 16];
  output y[n, p in 0..14, q in 0..21, k] = sum(r, s, c) (x[n, p + 2 * r - 2, q + 3 * s - 3, c] or 0) * w[k, r, s, c]; }
model halo_apart_stride { input x : bf16[1, 9, 27, 24]; param w : bf16[16, 2, 4, 24]; param b : bf16[16];
  output y[n, p in 0..8, q in 0..9, k] = relu(b[k] + sum(r, s, c) (x[n, p + r, 2 * q + 3 * s - 2, c] or 0) * w[k, r, s, c]); }
model halo_apart_1d { input x : f16[3, 57, 32]; param w : f16[32, 7, 32]; param b : f16[32];
  output y[n, q in 0..57, k] = b[k] + sum(s, c) (x[n, q + 5 * s - 15, c] or 0) * w[k, s, c]; }
// Rows that begin at odd elements.
model halo_odd_3x3 { input x : f16[2, 19, 29, 3]; param w : f16[24, 3, 3, 3]; param b : f16[24]; output y = relu(last(x, w, b, stride = 2, pad = 1)); }
model halo_odd_step { input x : bf16[2, 11, 17, 3]; param w : bf16[16, 3, 3, 3]; output y = last(x, w, pad = 1); }
model halo_odd_none { input x : f16[3, 9, 13, 1]; param w : f16[16, 3, 5, 1]; output y = last(x, w); }
model halo_odd_planes { input x : f16[2, 3, 17, 21]; param w : f16[40, 3, 5, 5]; output y = conv2d(x, w, stride = 2, pad = 2); }
// Windows of three dimensions, in planes; images of images; rows at odd elements.
model halo_cube { input x : f16[2, 3, 5, 12, 16]; param w : f16[24, 3, 3, 5, 5]; param b : f16[24];
  output y = relu(conv3d(x, w, b, stride = [1, 2, 2], pad = [1, 2, 2])); }
model halo_deep_by_two { input x : bf16[1, 2, 7, 9, 14]; param w : bf16[16, 2, 3, 3, 3]; output y = conv3d(x, w, stride = [2, 1, 1], pad = [1, 1, 0]); }
model halo_deep_far { input x : f16[1, 1, 9, 10, 12]; param w : f16[32, 1, 3, 3, 3]; output y = conv3d(x, w, dilation = [2, 1, 1]); }
model halo_deep_odd { input x : f16[1, 2, 4, 9, 13]; param w : f16[16, 2, 2, 3, 3]; output y = conv3d(x, w, pad = [0, 1, 1]); }
model halo_deep_wide { input x : f16[1, 4, 6, 8, 16]; param w : f16[24, 3, 3, 3, 16];
  output y[n, d in 0..4, p in 0..6, q in 0..8, k] = sum(t, r, s, c) (x[n, d + t - 1, p + r - 1, q + s - 1, c] or 0) * w[k, t, r, s, c]; }
model halo_views { input x : f16[2, 3, 3, 12, 16]; param w : f16[16, 3, 3, 3];
  output y[b, v in 0..3, k, p in 0..12, q in 0..16] = sum(c, r, s) (x[b, v, c, p + r - 1, q + s - 1] or 0) * w[k, c, r, s]; }
model halo_video { input x : f16[2, 3, 4, 12, 16]; param w : f16[40, 3, 1, 3, 3]; output y = relu(conv3d(x, w, pad = [0, 1, 1])); }
model halo_deep_long { input x : f16[1, 4, 6, 8, 32]; param w : f16[24, 3, 3, 3, 32];
  output y[n, d in 0..4, p in 0..6, q in 0..8, k] = sum(t, r, s, c) (x[n, d + t - 1, p + r - 1, q + s - 1, c] or 0) * w[k, t, r, s, c]; }
