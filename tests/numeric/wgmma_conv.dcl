// Convolutions whose output pixels are boxes or runs of TMA maps; channels last.
op conv(x: T[N, H, W, C], w: T[K, C, R, S]; stride = 1, pad = 0, dilation = 1) -> y {
  y = transpose(conv2d(transpose(x, perm = [0, 3, 1, 2]), w, stride = stride, pad = pad, dilation = dilation), perm = [0, 2, 3, 1]);
}
model wc_3x3 { input x : f16[2, 14, 14, 64]; param w : f16[48, 64, 3, 3]; param b : f16[48]; output y = relu(conv(x, w, pad = 1) + b); }
model wc_3x3_valid { input x : bf16[1, 13, 18, 64]; param w : bf16[32, 64, 3, 3]; output y = conv(x, w); }
model wc_3x3_stride { input x : f16[3, 15, 15, 32]; param w : f16[40, 32, 3, 3]; output y = conv(x, w, stride = 2, pad = 1); }
model wc_dilated { input x : f16[1, 12, 12, 72]; param w : f16[32, 72, 3, 3]; output y = conv(x, w, pad = 2, dilation = 2); }
model wc_1x1 { input x : f16[2, 7, 9, 64]; param w : f16[72, 64, 1, 1]; output y = conv(x, w); }
model wc_1x1_stride { input x : f16[2, 9, 9, 64]; param w : f16[40, 64, 1, 1]; output y = conv(x, w, stride = 2); }
model wc_7x7 { input x : f16[6, 7, 7, 128]; input r : f16[6, 7, 7, 64]; param w : f16[64, 128, 3, 3]; output y = relu(conv(x, w, pad = 1) + r); }
model wc_1d { input x : f16[2, 70, 64]; param w : f16[32, 64, 5]; output y = transpose(conv1d(transpose(x, perm = [0, 2, 1]), w, stride = 2, pad = 2), perm = [0, 2, 1]); }
model wc_3d { input x : f16[1, 6, 7, 8, 32]; param w : f16[32, 32, 2, 3, 3]; output y = transpose(conv3d(transpose(x, perm = [0, 4, 1, 2, 3]), w, pad = 1), perm = [0, 2, 3, 4, 1]); }

// Runs from row to row and image to image: im2col maps. Taps that go backwards
// they do not have: the last two are patches.
model wc_run { input x : f16[3, 11, 11, 64]; param w : f16[48, 64, 3, 3]; param b : f16[48]; input r : f16[3, 11, 11, 48]; output y = relu(conv(x, w, pad = 1) + b + r); }
model wc_run_stride { input x : f16[3, 21, 21, 32]; param w : f16[40, 32, 3, 3]; output y = conv(x, w, stride = 2, pad = 1); }
model wc_run_dilated { input x : bf16[3, 11, 13, 72]; param w : bf16[32, 72, 3, 3]; output y = conv(x, w, pad = 2, dilation = 2); }
model wc_run_valid { input x : f16[3, 13, 12, 64]; param w : f16[32, 64, 3, 2]; output y = conv(x, w); }
model wc_run_1x1_stride { input x : f16[3, 21, 22, 64]; param w : f16[32, 64, 1, 1]; output y = conv(x, w, stride = 2); }
model wc_run_one { input x : f16[1, 19, 19, 64]; param w : f16[32, 64, 3, 3]; output y = conv(x, w, pad = 1); }
model wc_run_1d { input x : f16[5, 61, 64]; param w : f16[32, 64, 5]; output y = transpose(conv1d(transpose(x, perm = [0, 2, 1]), w, stride = 2, pad = 2), perm = [0, 2, 1]); }
model wc_run_3d { input x : f16[2, 5, 5, 5, 32]; param w : f16[32, 32, 3, 3, 3]; output y = transpose(conv3d(transpose(x, perm = [0, 4, 1, 2, 3]), w, pad = 1), perm = [0, 2, 3, 4, 1]); }
model wc_patch { input x : f16[3, 13, 13, 64]; param w : f16[48, 64, 3, 3]; param b : f16[48]; output y[n, p in 0..11, q in 0..11, k] = relu(sum(r, s, c) x[n, p + 2 - r, q + 2 - s, c] * w[k, c, r, s] + b[k]); }
model wc_patch_pad { input x : f16[2, 11, 11, 64]; param w : f16[32, 64, 3, 3]; output y[n, p in 0..11, q in 0..11, k] = sum(r, s, c) (x[n, p + 1 - r, q + 1 - s, c] or 0) * w[k, c, r, s]; }
// a window along what lies together: no tensor map begins at each tap, and the
// last tile of rows at each end
model wc_line { input x : f16[1, 40, 200]; param w : f16[64, 40, 3]; param b : f16[64];
  output h[n, p in 0..200, k] = relu((sum(c, r) (x[n, c, p + r - 1] or 0) * w[k, c, r]) + b[k]); }
model wc_ends { input x : f16[96, 203]; input w : f16[96, 128]; @nofuse a[k, i] = tanh(x[k, i]); output z[i, j] = sum(k) a[k, i] * w[k, j]; }

// taps in reverse, as a gradient's are: of both dimensions, of one
model wc_back { input x : f16[2, 9, 7, 64]; param w : f16[3, 3, 64, 40]; output y[n, p in 0..9, q in 0..7, c] : f16 = sum(r, s, k) (x[n, p - r + 1, q - s + 1, k] or 0) * w[r, s, k, c]; }
model wc_back_mixed { input x : f16[3, 11, 12, 64]; param w : f16[5, 3, 64, 72]; output y[n, p in 0..11, q in 0..12, c] : f16 = sum(r, s, k) (x[n, p - r + 2, q + s - 1, k] or 0) * w[r, s, k, c]; }

// sums over pixels that lie apart: a weight's gradient of a stride
model wc_apart { input d : f16[4, 7, 7, 136]; input x : f16[4, 14, 14, 64]; output w[k, c] : f32 = sum(n, p, q) d[n, p, q, k] * x[n, 2 * p, 2 * q, c]; }
model wc_apart_mixed { input d : f16[3, 9, 7, 72]; input x : f16[3, 27, 14, 128]; output w[k, c] : f32 = sum(n, p, q) d[n, p, q, k] * x[n, 3 * p, 2 * q, c]; }

// neighbouring pixels of few channels as one of more: windows that begin inside
// a pair, end inside one, or lie so that both do; what weights do not reach may
// be anything
model wc_pairs { input x : f16[2, 14, 14, 32]; param w : f16[40, 32, 3, 3]; param b : f16[40]; output y = relu(conv(x, w, stride = 2, pad = 1) + b); }
model wc_pairs_end { input x : f16[1, 11, 14, 32]; input w : f16[40, 3, 3, 32]; output y[n, p in 0..5, q in 0..7, k] = sum(r, s, c) (x[n, 2 * p + r, 2 * q + s, c] or 0) * w[k, r, s, c]; }
model wc_pairs_5x5 { input x : bf16[1, 13, 20, 16]; param w : bf16[72, 16, 5, 5]; output y = conv(x, w, stride = 2, pad = 2); }
model wc_pairs_7x7 { input x : f16[1, 14, 16, 32]; param w : f16[64, 32, 7, 7]; output y = conv(x, w, stride = 2, pad = 3); }
model wc_pairs_wide { input x : f16[1, 13, 18, 16]; param w : f16[32, 16, 4, 5]; output y = conv(x, w, stride = 3, pad = 1); }
model wc_pairs_inf { input x : f16[1, 12, 16, 32]; input w : f16[32, 3, 3, 32]; @nofuse h[n, p, q, c] = q == 2 ? x[n, p, q, c] * 1e9 : x[n, p, q, c]; y[n, p in 0..6, q in 0..8, k] = sum(r, s, c) (h[n, 2 * p + r - 1, 2 * q + s - 1, c] or 0) * w[k, r, s, c]; output z[n, p, q, k] = q == 1 ? 0 : y[n, p, q, k]; }
