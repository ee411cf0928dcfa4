// Reads at indices that a fused neighbour computes.
model gg_argmax_rows { input x : f32[8, 40]; param t : f32[40, 16]; a = argmax(x); output y[i, d] = t[a[i], d] * 2; output m[i] = x[i, a[i]]; }
model gg_pick_in_softmax { input x : f32[8, 64]; p = softmax(x); a = argmax(x); output y[i, j] = p[i, j] - p[i, a[i]]; output z[i, j] = x[i, j] - x[i, a[i]]; }
model gg_next { input ids : i32[64] in 0..10; param t : f32[10, 8]; n[i] = (ids[i] * 3 + 1) % 10; m[i] = (n[i] + 5) % 10; output y[i, d] = t[m[i], d] + t[n[i], d]; output k[i] = m[i] + n[i]; }
model gg_sum_of_picked { input ids : i32[4, 32] in 0..10; input x : f32[10]; n[i, j] = (ids[i, j] + 1) % 10; output y[i] = sum(j) x[n[i, j]]; output v[i, j] = x[n[i, j]] - x[ids[i, j]]; }
model gg_norm_picked { input ids : i32[4, 32] in 0..10; input x : f32[10]; n[i, j] = (ids[i, j] + 1) % 10; g[i, j] = x[n[i, j]]; output y = softmax(g); output z = layer_norm(g); }
model gg_rows_by_sum { input c : i32[16, 4] in 0..3; param t : f32[9, 16]; s[i] = sum(j) c[i, j]; output y[i, d] = t[s[i], d] or 0; }
model gg_clamped { input c : i32[32]; param t : f32[9]; s[i] = c[i] + 3; output y[i] = t[s[i]] + (t[s[i] - 1] or -1); }
