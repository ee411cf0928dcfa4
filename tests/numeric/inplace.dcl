// State that is written in place while older values are still wanted.
model sn_shift { input x : f32[6]; state h : f32[6] = 2;
  h[i] = i == 0 ? x[0] : h[i - 1] or 0; output y[i] = h[i] + 1; }
model sn_reverse { input x : f32[7]; state h : f32[7] = 1; h[i in 0..7] = h[6 - i] + x[i]; output y[i] = h[i]; }
model sn_transpose { input x : f32[5, 5]; state h : f32[5, 5]; h[i, j] = h[j, i] + x[i, j]; output y = h * 2; }
model sn_old_sum { input x : f32[6]; state h : f32[6] = 3;
  s[] = sum(i) h[i]; h[i] = x[i] + s; output y[i] = h[i] - s; }
model sn_row_then_whole { input x : f32[4]; input pos : i32 in 0..5; state k : f32[5, 4] = 2;
  k[pos, d] = x[d]; s[d] = sum(i) k[i, d]; k[i, d] = k[i, d] + s[d]; output y[i, d] = k[i, d]; }
model sn_row_from_row { input pos : i32 in 0..4; state k : f32[5, 4] = 2; input x : f32[4];
  k[pos, d] = k[pos + 1, d] + x[d]; output y[i, d] = k[i, d]; }
model sn_rows_twice { input x : f32[4]; input p : i32 in 0..5; input q : i32 in 0..5; state k : f32[5, 4] = 2;
  k[p, d] = x[d]; k[q, d] = x[d] * 2; output y[i, d] = k[i, d]; }
model sn_swap { input x : f32[8]; state a : f32[8] = 1; state b : f32[8] = 2;
  t[i] = a[i] + 0.0; a[i] = b[i] + x[i]; b[i] = t[i] * 1.25; output ya = a + 0; output yb = b + 0; }
model sn_swap_plain { input x : f32[8]; state a : f32[8] = 1; state b : f32[8] = 2;
  t[i] = a[i]; a[i] = b[i]; b[i] = t[i] + x[i]; output ya = a; output yb = b; }
model sn_matmul { input x : f32[6]; param w : f32[6, 6]; state h : f32[6] = 1;
  h[i] = tanh(sum(k) w[i, k] * h[k] + x[i]); output y[i] = h[i]; }
model sn_matmul_old { input x : f32[3, 6]; param w : f32[6, 6]; state h : f32[3, 6] = 1;
  z = linear(h, w); h = z + x; output y = h - z; }
model sn_f16 { input x : f16[3, 8]; state h : f16[3, 8] = 1; h = h * 0.5 + x; n = layer_norm(h); output y = n; output z = h; }
model sn_unread { input x : f32[4]; state h : f32[4]; h = x; output y = x + 1; }
model sn_only_read { input x : f32[4]; state h : f32[4] = 7; output y = x + h; }
model sn_output_is_state { input x : f32[4]; state h : f32[4] = 7; h = h + x; output y = h; }
model sn_output_is_old_state { input x : f32[4]; state h : f32[4] = 7; o = h; h = h + x; output y = o; }
model sn_output_old_mid { input x : f32[4]; state h : f32[4] = 7; output o = h; h = h + x; output y = h; }
model sn_window { input x : f32[3]; state w : f32[5, 3];
  w[i, d] = i < 4 ? w[i + 1, d] or 0 : x[d]; output y[d] = mean(i) w[i, d]; }
model sn_window_concat { input x : f32[1, 3]; state w : f32[5, 3];
  n = concat(slice(w, axis = 0, first = 1), x, axis = 0); w = n; output y[d] = sum(i) w[i, d]; }
model sn_counter_index { state n : i32 = 0; input x : f32[4]; state buf : f32[6, 4];
  buf[n % 6, d] = x[d]; n = n + 1; output y = buf + 0; output c = n + 0; }
model sn_cache_attention { input q : f16[2, 8]; input kk : f16[2, 8]; input pos : i32 in 0..7; state ks : f16[2, 7, 8] = 1;
  ks[n, pos, d] = kk[n, d]; s[n, j] : f32 = j <= pos ? sum(d) q[n, d] * ks[n, j, d] : -inf;
  p = softmax(s); output o[n, d] = sum(j) p[n, j] * ks[n, j, d]; output old[n, j] : f32 = sum(d) ks[n, j, d]; }
model sn_old_read_late { input x : f32[6]; state h : f32[6] = 3;
  o[i] = h[i] * 2; h[i] = x[i] + h[i]; output y[i in 0..6] = o[5 - i] + h[i]; }
model sn_three_versions { input x : f32[6]; state h : f32[6] = 1;
  a[i] = h[i] * 1.5; h[i] = h[i] + x[i]; b[i] = h[i] * 2.5; h[i] = h[i] * x[i]; c[i in 0..6] = h[5 - i];
  output y[i] = a[i] + b[i] + c[i]; }
model sn_index_by_itself { state n : i32[3, 4] = 1; input x : i32[4] in 0..3; n[n[0, 1], j] = x[j]; output y[i, j] = n[i, j] * 2; }
model sn_norm_in_place { input x : f32[4, 300]; state h : f32[4, 300] = 1; h = layer_norm(h + x); output y = h + softmax(h); }
model sn_sum_in_place { input x : f32[5, 5]; state h : f32[5] = 1; h[i] = sum(k) h[k] * x[i, k]; output y[i] = h[i] + 1; }
model sn_bias_in_place { input x : f16[16, 32]; param w : f16[24, 32]; state h : f16[16, 24] = 1; h = linear(x, w) + h; output y = h * 2; }
// two sums beside each other, of which one reads rows that the other overwrites
model sn_beside { input c : i32[8] in 0..300; input o : i32[8] in 0..300; input p : f32[8]; state s : f32[300] = 1;
  z[i in 0..300] = sum(b) (o[b] == i ? p[b] * s[c[b]] : 0);
  s[i in 0..300] = s[i] + sum(b) (c[b] == i ? p[b] : 0); output z; }
// gradients through a state's new value need the old one, too: a state carried from step to step
model sn_carried { input x : f32[3, 5]; input t : f32[3, 7]; param w : f32[7, 5]; param u : f32[7, 7]; state h : f32[3, 7] = 0.25;
  h = tanh(linear(x, w) + linear(h, u)); loss = mse(h, t); output loss;
  for v in params { v = v - 0.1 * grad(loss, v); } }
model sn_product { input x : f32[5]; state s : f32[5] = 1; s = s * x; l = sum(s * s); output g = grad(l, x); s = s * 0.5; m = sum(s * x); output k = grad(m, x); }
model sn_counted { input x : f16[4, 3]; input p : i32 in 0..4; param w : f16[3]; state k : f16[4, 3] = 0.5;
  k[p, d] = x[p, d] * w[d]; y[i in 0..4] : f32 = sum(d) k[i, d] * k[3 - i, d]; loss = sum(y * y); output loss; for v in params { v = v - 0.01 * grad(loss, v); } }
// the version between is written by nobody: what it was is overwritten by the last
model sn_skipped { input c : i32[3] in 0..8; input p : f32[3]; input x : f32[8]; state s : f32[8] = 0.5;
  t[i in 0..8] = x[i] * sum(b) (c[b] == i ? p[b] * s[c[b]] : 0); s[i] = t[i] * 0.5; q = s * 1; s[i in 0..8] = t[7 - i] * t[i];
  l[] = sum(i, j in 0..8) s[i] * s[j] * x[j]; output g = grad(l, p); output y = s * 1; }
// a row's new value is stored before a later pass over the columns, which reads the old one
model sn_before_pass { input x : f32[7, 12]; state s : f32[7] = 1; m[i] = max(k) x[i, k]; y[i, k] = (x[i, k] - m[i]) * s[i];
  s[i] = s[i] * 0.5 + m[i]; output y; }
model sn_before_sum { input x : f32[7, 300]; state s : f32[7] = 1; m[i] = max(k) x[i, k]; n[i] = sum(k) exp(x[i, k] - m[i]) * s[i];
  s[i] = s[i] * 0.5 + m[i]; output n; }
model sn_before_gradient { input x : f32[6, 5, 4]; param g : f32[5]; param b : f32[5]; h = batch_norm_train(x, g, b);
  loss[] = sum(n, c, i) h[n, c, i] * h[n, c, i] * h[n, c, i]; for v in params { v = v - 0.01 * grad(loss, v); } output loss; output gx = grad(loss, x); }
// all of it and then a part: a kernel of both stored vectors of the first behind elements of the second
model sn_part_over_whole { input x : f32[16]; input z : f32[16]; state s : f32[16] = 0.5; s = x * 1.5;
  s[i in 3..8] = tanh(s[i] + z[i]); output y = s; }
model sn_part_over_rows { input x : f16[4, 24]; state s : f16[4, 24] = 0.5; s = softmax(x);
  s[i, j in 3..8] = s[i, j] * x[i, j]; output y = s; }
// kernels that are equal but for which of their arguments has another's memory
model sn_other_memory { input x : f32[512]; state a : f32[512] = 1; state b : f32[512] = 2; @nofuse t[i] = exp(x[i]);
  output p[i] = t[i] + 1; b[i] = b[i] * 2; @nofuse r[i in 0..512] = p[511 - i] * b[511 - i];
  output q[i] = a[i] + 1; a[i] = r[i] * 2; output z[i in 0..512] = a[511 - i]; }
