// Index arithmetic: guards, gathers, views, packs, floor division.
model ix_shift { input x : f32[4, 17]; output y[i, j in 0..17] = (x[i, j - 3] or 7) + (x[i, j + 2] or -inf); }
model ix_reverse { input x : f32[5, 14]; output y[i in 0..5, j in 0..14] = x[4 - i, 13 - j]; }
model ix_roll { input x : f32[5, 14]; output y[i, j in 0..14] = x[i, (j + 5) % 14]; }
model ix_roll_back { input x : f32[5, 14]; output y[i, j in 0..14] = x[i, (j - 5) % 14]; }
model ix_floor_negative { input x : f32[9]; output y[i in 0..20] = x[(i - 10) / 3 + 4]; }
model ix_repeat { input x : f32[6, 5]; output y[i in 0..18, j] = x[i / 3, j]; }
model ix_interleave { input x : f32[12]; output y[i in 0..6, j in 0..2] = x[i * 2 + j]; }
model ix_diagonal { input x : f32[9, 9]; output y[i] = x[i, i]; }
model ix_band { input x : f32[11, 11]; output y[i, j] = j >= i - 1 && j <= i + 2 ? x[i, j] : 0; }
model ix_modulo_guard { input x : f32[8]; output y[i in 0..16] = i % 2 == 0 ? x[i / 2] or 0 : -1; }
model ix_clamp { input x : f32[10]; output y[i in 0..14] = x[min(max(i - 2, 0), 9)]; }
model ix_gather { input ids : i32[13] in 0..20; param t : f32[20, 9]; output y[i, j] = t[ids[i], j]; }
model ix_gather_f16 { input ids : i32[2, 7]; param t : f16[33, 24]; output y = embedding(ids, t); }
model ix_gather_clamped { input ids : i32[11]; param t : f32[20, 3]; output y[i, j] = t[ids[i] * 2 - 7, j]; }
model ix_gather_or { input ids : i32[11] in -5..30; param t : f32[20, 3]; output y[i, j] = t[ids[i], j] or 0; }
model ix_gather_pair { input x : f32[6, 17]; input t : i32[6] in 0..17; output y[i] = x[i, t[i]]; }
model ix_gather_arith { input ids : i32[10] in 0..5; input x : f32[25]; output y[i] = x[ids[i] * 4 + ids[9 - i]]; }
model ix_gather_twice { input a : i32[7] in 0..9; input b : i32[9] in 0..12; input x : f32[12]; output y[i] = x[b[a[i]]]; }
model ix_one_hot { input ids : i32[6] in 0..8; output y[i, j in 0..8] : f32 = ids[i] == j; }
model ix_gather_matmul { input ids : i32[9] in 0..30; param t : f16[30, 32]; param w : f16[16, 32]; output y = linear(embedding(ids, t), w); }
model ix_argmax_gather { input x : f32[5, 20]; input v : f32[20]; a[i] = argmax(j) x[i, j]; output y[i] = v[a[i]]; }
model ix_reshape { input x : f32[4, 6, 5]; output y = reshape(x, shape = [8, -1]) + 1; }
model ix_reshape_map { input x : f32[6, 10]; h = relu(x); output y = reshape(h, shape = [3, 4, 5]); }
model ix_transpose { input x : f32[3, 4, 5]; output y = transpose(x, perm = [2, 0, 1]) * 2; }
model ix_heads {
  input x : f16[9, 24];
  h = transpose(reshape(x, shape = [9, 3, 8]), perm = [1, 0, 2]);
  output y = softmax(h);
}
model ix_concat { input a : f32[3, 4]; input b : f32[3, 7]; input c : f32[3, 1]; output y = concat(a, b * 2, c, axis = 1); }
model ix_concat_rows { input a : f16[3, 16]; input b : f16[5, 16]; output y = relu(concat(a, b, axis = 0)); }
model ix_concat_read { input a : f32[4, 6]; input b : f32[4, 10]; h = concat(a, b, axis = -1); output y[i] = sum(j) h[i, j]; }
model ix_concat_matmul {
  input a : f32[5, 6];
  input b : f32[5, 7];
  param w : f32[4, 13];
  output y = linear(concat(a, b, axis = 1), w);
}
model ix_slice { input x : f32[7, 20]; output y = slice(x, axis = 1, first = 3, last = 18, step = 4) + 0; }
model ix_split { input x : f32[3, 12]; output y = split(x, parts = 3, part = 1) * split(x, parts = 3, part = 2); }
model ix_pad { input x : f32[4, 5]; output y = pad(x, axis = 1, before = 2, after = 3, value = 9); }
model ix_pad_axis0 { input x : f16[4, 8]; output y = pad(x, axis = 0, before = 1, after = 2); }
model ix_space_to_depth { input x : f32[2, 6, 8]; output y[c, a in 0..2, b in 0..2, i in 0..3, j in 0..4] = x[c, i * 2 + a, j * 2 + b]; }
model ix_im2col { input x : f32[3, 8]; output y[c, r in 0..3, i in 0..6] = x[c, i + r] + 1; }
model ix_cumulative { input x : f32[13]; output y[i in 0..13] = sum(j in 0..13) (j <= i ? x[j] : 0); }
model ix_bilinear { input x : f32[9]; output y[i in 0..17] : f32 = i % 2 == 0 ? x[i / 2] : 0.5 * (x[i / 2] + (x[i / 2 + 1] or 0)); }
op twice(x: T[A.., D @ axis, B..]; axis = 0) -> y: T[A.., D, B..] { y[A.., d, B..] = 2 * x[A.., D - 1 - d, B..]; }
model ix_packs { input x : f32[3, 4, 5]; output a = twice(x); output b = twice(x, axis = 1); output c = twice(x, axis = -1); }
op dot_last(a: T[.., D], b: T[.., D]) -> y { y[..] = sum(d) a[.., d] * b[.., d]; }
model ix_pack_broadcast { input a : f32[2, 5, 6]; input b : f32[5, 6]; output y = dot_last(a, b); }
model ix_sum_pack { input x : f32[2, 3, 4, 5]; output y = global_avg_pool(x); }
