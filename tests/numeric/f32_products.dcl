// Products of f32 factors that are contiguous along the sum, as tf32 on sm_90a
// wants them; and some that are not, which 3xtf32 takes, too.
model fp_linear { input x : f32[96, 128]; param w : f32[80, 128]; param b : f32[80]; output y = gelu(linear(x, w, b)); }
model fp_deep { input x : f32[64, 1056]; param w : f32[64, 1056]; output y = linear(x, w); }
model fp_ragged { input x : f32[131, 100]; param w : f32[77, 100]; output y = relu(linear(x, w)); }
model fp_wide { input x : f32[40, 64]; param w : f32[300, 64]; output y = linear(x, w); }
model fp_batched { input a : f32[3, 70, 48]; input b : f32[3, 33, 48]; output y[n, i, j] = sum(k) a[n, i, k] * b[n, j, k]; }
model fp_heads { input q : f32[2, 40, 96]; input k : f32[2, 40, 96]; output s[n, h in 0..3, i, j] = 0.125 * sum(d in 0..32) q[n, i, h * 32 + d] * k[n, j, h * 32 + d]; }
model fp_residual { input x : f32[48, 64]; input r : f32[48, 96]; param w : f32[96, 64]; output y = linear(x, w) + r; }
model fp_conv { input x : f32[1, 14, 14, 32]; param w : f32[48, 3, 3, 32]; output y[n, p in 0..14, q in 0..14, k] = relu(sum(r, s, c) (x[n, p + r - 1, q + s - 1, c] or 0) * w[k, r, s, c]); }
model fp_conv_stride { input x : f32[2, 16, 16, 32]; param w : f32[24, 3, 3, 32]; output y[n, p in 0..8, q in 0..8, k] = sum(r, s, c) (x[n, 2 * p + r - 1, 2 * q + s - 1, c] or 0) * w[k, r, s, c]; }
model fp_conv_pixels { input x : f32[3, 11, 11, 32]; param w : f32[32, 3, 3, 32]; output y[n, p in 0..11, q in 0..11, k] = sum(r, s, c) (x[n, p + r - 1, q + s - 1, c] or 0) * w[k, r, s, c]; }
model fp_across { input a : f32[64, 72]; input b : f32[72, 40]; output y = matmul(a, b); }
model fp_both_across { input a : f32[72, 64]; input b : f32[72, 40]; output y[i, j] = sum(k) a[k, i] * b[k, j]; }
model fp_windows_across { input a : f32[4, 17, 17, 8]; param u : f32[8, 32]; input b : f32[4, 9, 9, 8];  param t : f32[8, 256]; x[n, h, w, c] : f32 = sum(j) a[n, h, w, j] * u[j, c]; d[n, p, q, k] : f32 = sum(j) b[n, p, q, j] * t[j, k]; output e[k] : f32 = sum(n, p, q) d[n, p, q, k]; output g[k, r in 0..3, s in 0..3, c] : f32 = sum(n, p, q) (x[n, p * 2 + r - 1, q * 2 + s - 1, c] or 0) * d[n, p, q, k]; }
model fp_windows_turned { input a : f32[4, 17, 17, 8]; param u : f32[8, 36]; input b : f32[4, 9, 9, 8];  param t : f32[8, 256]; x[n, h, w, c] : f32 = sum(j) a[n, h, w, j] * u[j, c]; d[n, p, q, k] : f32 = sum(j) b[n, p, q, j] * t[j, k]; output e[k] : f32 = sum(n, p, q) d[n, p, q, k]; output g[k, r in 0..3, s in 0..3, c] : f32 = sum(n, p, q) (x[n, p * 2 + r - 1, q * 2 + s - 1, c] or 0) * d[n, p, q, k]; }
// Across the sum on both sides or one, in boxes of 32; windows that slide along
// it, on either side, in parts of the sum.
model fp_tall { input a : f32[160, 136]; input b : f32[160, 96]; output y[i, j] = sum(k) a[k, i] * b[k, j]; }
model fp_across_rows { input a : f32[96, 68]; input b : f32[72, 96]; output y[i, j] = sum(k) a[k, i] * b[j, k]; }
model fp_across_half { input a : f32[72, 64]; input b : f32[72, 64]; output y[i, j] : f16 = sum(k) a[k, i] * b[k, j]; }
model fp_across_batched { input a : f32[3, 48, 68]; input b : f32[3, 48, 36]; output y[n, i, j] = sum(k) a[n, k, i] * b[n, k, j]; }
model fp_slides { input x : f32[3, 14, 14, 32]; input d : f32[3, 14, 14, 64]; output g[k, r in 0..3, s in 0..3, c] = sum(n, p, q) (x[n, p + r - 1, q + s - 1, c] or 0) * d[n, p, q, k]; }
model fp_slides_strided { input x : f32[4, 17, 17, 64]; input d : f32[4, 9, 9, 48]; output g[k, r in 0..3, s in 0..3, c] = sum(n, p, q) (x[n, p * 2 + r - 1, q * 2 + s - 1, c] or 0) * d[n, p, q, k]; }
model fp_slides_rows { input x : f32[3, 14, 14, 32]; input d : f32[3, 14, 14, 32]; output g[r in 0..3, s in 0..3, c, k] = sum(n, p, q) (x[n, p + r - 1, q + s - 1, c] or 0) * d[n, p, q, k]; }
// Few rows of many terms are columns; windows of few channels have images along
// the sum.
model fp_crossed { input x : f32[6, 20, 20, 32]; input d : f32[6, 20, 20, 8]; output g[k, r in 0..3, s in 0..3, c] = sum(n, p, q) (x[n, p + r - 1, q + s - 1, c] or 0) * d[n, p, q, k]; }
model fp_images { input x : f32[32, 3, 15, 13]; input d : f32[32, 15, 13, 36]; output g[k, c in 0..3, r in 0..7, s in 0..7] = sum(n, p, q) (x[n, c, p + r - 3, q + s - 3] or 0) * d[n, p, q, k]; }
model fp_images_strided { input x : f32[32, 23, 21, 6]; input d : f32[32, 12, 11, 32]; output g[k, r in 0..5, s in 0..5, c in 0..6] = sum(n, p, q) (x[n, 2 * p + r - 1, 2 * q + s - 2, c] or 0) * d[n, p, q, k]; }
// Trained weights of few channels: taps and channels are runs of a copy.
model fp_runs { input x : f32[8, 62, 46, 3]; param w : f32[32, 5, 7, 3]; y[n, p in 0..31, q in 0..23, k] = sum(r, s, c) (x[n, 2 * p + r - 2, 2 * q + s - 3, c] or 0) * w[k, r, s, c]; loss[] = sum(n, p, q, k) y[n, p, q, k] * y[n, p, q, k] / 1000; for v in params { v = v - 0.001 * grad(loss, v); } output loss; output y; }
