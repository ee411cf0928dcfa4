// Reads at indices that a fused neighbour computes.
model gg_argmax_rows { input x : f32[8, 40]; param t : f32[40, 16]; a = argmax(x); output y[i, d] = t[a[i], d] * 2; output m[i] = x[i, a[i]]; }
model gg_pick_in_softmax { input x : f32[8, 64]; p = softmax(x); a = argmax(x); output y[i, j] = p[i, j] - p[i, a[i]]; output z[i, j] = x[i, j] - x[i, a[i]]; }
model gg_next { input ids : i32[64] in 0..10; param t : f32[10, 8]; n[i] = (ids[i] * 3 + 1) % 10; m[i] = (n[i] + 5) % 10; output y[i, d] = t[m[i], d] + t[n[i], d]; output k[i] = m[i] + n[i]; }
model gg_sum_of_picked { input ids : i32[4, 32] in 0..10; input x : f32[10]; n[i, j] = (ids[i, j] + 1) % 10; output y[i] = sum(j) x[n[i, j]]; output v[i, j] = x[n[i, j]] - x[ids[i, j]]; }
model gg_norm_picked { input ids : i32[4, 32] in 0..10; input x : f32[10]; n[i, j] = (ids[i, j] + 1) % 10; g[i, j] = x[n[i, j]]; output y = softmax(g); output z = layer_norm(g); }
model gg_rows_by_sum { input c : i32[16, 4] in 0..3; param t : f32[9, 16]; s[i] = sum(j) c[i, j]; output y[i, d] = t[s[i], d] or 0; }
model gg_clamped { input c : i32[32]; param t : f32[9]; s[i] = c[i] + 3; output y[i] = t[s[i]] + (t[s[i] - 1] or -1); }
// Lookups in several tables into one buffer: one kernel, and the tables behind each other
model gt_tables { input ids : i32[5, 4]; input x : f16[5, 8]; param a : f16[7, 8]; param b : f16[30, 8]; param c : f16[2, 8]; param d : f16[11, 8];
  p[i] = ids[i, 0]; q[i] = ids[i, 1]; r[i] = ids[i, 2]; t[i] = ids[i, 3];
  z[i, 0, k] = x[i, k]; z[i, 1, k] = a[p[i], k]; z[i, 2, k] = b[q[i], k]; z[i, 3, k] = c[r[i], k]; z[i, 4, k] = d[t[i], k];
  output y[i, u, v] = sum(k) z[i, u, k] * z[i, v, k]; }
model gt_tables_equal { input ids : i32[3] in 0..9; param a : f32[9, 5]; param b : f32[9, 5]; param c : f32[9, 5];
  z[i, 0, j] = a[ids[i], j]; z[i, 1, j] = b[ids[i], j]; z[i, 2, j] = c[ids[i], j]; output y = z; }
model gt_tables_one { input ids : i32[1, 6]; param a : f32[4, 3]; param b : f32[9, 3]; param c : f32[2, 3];
  z[i, 0, k] = a[ids[i, 1], k]; z[i, 2, k] = b[ids[i, 3], k]; z[i, 4, k] = c[ids[i, 5], k]; z[i, 1, k in 0..3] = f32(ids[i, k]); z[i, 3, k in 0..3] = 2.0 * ids[i, k + 3]; output y = z; }
model gt_tables_tied { input ids : i32[6, 3]; param a : f32[4, 8]; param b : f32[9, 8]; param c : f32[2, 8];
  z[i, 0, k] = a[ids[i, 0], k]; z[i, 1, k] = b[ids[i, 1], k]; z[i, 2, k] = c[ids[i, 2], k];
  output y[i, u, n] = sum(k) z[i, u, k] * b[n, k]; }
// one number picks, worked out from others in ways that no index is made of
model ga_picked { input i : i32; input a : f32[3]; input x : f32[4, 6]; output y = embedding(i < 0 ? i + 4 : i, x);
  output z = embedding(argmin(a, axis = 0) * i, x); }
