// Definitions of parts, which make one tensor
model pt_slices { input a : f16[3, 8]; input x : f16[3, 4, 8];
  t[b, 0, d] = a[b, d]; t[b, s in 1..5, d] = x[b, s - 1, d] * 2; output t; }
model pt_radix_sum { input x : f16[6, 16]; param w : f16[20, 16]; z[b / 2, b % 2, j] = sum(k) x[b, k] * w[j, k]; output z; }
model pt_interleave { input x : f32[7]; input y : f32[7]; t[2 * i] = x[i]; t[2 * i + 1] = y[i] * 2; output t; output u = t + 1; }
model pt_flip { input x : f32[9, 3]; t[8 - i, j] = x[i, j]; output t; output s[j] = t[0, j]; }
model pt_base_radix { input x : f32[3, 4]; t : f32[5, 20] = 0; t[i + 1, 2 * j] = x[i, j]; t[i in 0..3, 2 * j + 11] = x[i, j]; output t; }
model pt_covered { input x : f16[3, 8, 32]; param w : f16[24, 32]; t : f16[8, 3, 32] = 0; for l in 0..3 { t[b, 2 - l, d] = x[l, b, d] * (l + 1); } output y = linear(t, w); }
model pt_loop { input x : f16[6, 8]; h = x * 1; for l in 0..5 { h[b, d] : f16 = h[b, d] * 0.5 + x[l, d]; y[l, b, d] = h[b, d]; } output y; }
model pt_recurrence { input x : f32[6]; t : f32[6] = 0; t[0] = x[0]; for l in 1..6 { t[l] = t[l - 1] * 0.5 + x[l]; } output t; }
model pt_reduce { input x : f16[8, 32]; t[i, 0] = max(j) x[i, j]; t[i, 1] = sum(j) x[i, j]; t[i, 2] = min(j) x[i, j]; output t; }
model pt_product { input x : f16[64, 64]; param w : f16[64, 64]; param v : f16[32, 64]; t[i, j in 0..64] = sum(k) x[i, k] * w[j, k]; t[i, j in 64..96] = relu(sum(k) x[i, k] * v[j - 64, k]); output t; output s[i] : f32 = mean(j) t[i, j]; }
model pt_first_plain { input x : f32[3]; input y : f32[4]; t[i] = x[i]; t[i in 3..7] = y[i - 3]; output t; }
model pt_index { input x : f32[20]; t[0] = 3; t[i in 1..5] = 4 * i; output y[i] = x[t[i]]; }
model pt_state_radix { input x : f32[2, 3, 2]; state k : f32[2, 6] = 1; y[b, d] = k[b, d]; k[b, 2 * d + e] = x[b, d, e] + k[b, 2 * d + e]; output y; }
// an unread value that the definition's own right side reads
model pt_own { input x : f16[4, 8]; h : f32[4, 8] = 0; for t in 0..3 { h[b, d] = h[b, d] + x[b, d] * t; } h[b, d in 0..8] = h[b, d] * 2; output h; }
model pt_own_part { input x : f32[4, 8]; h[b, d] = x[b, d] + 1; h[b, d in 2..5] = h[b, d - 1] * 2; output h; }
// what alternates in memory is stored as one: 2, 3 and 4 strands, of which nobody or all read the same, in other orders, of other types
model pt_woven { input a : f16[5, 32]; input b : f16[5, 32]; t[i, 2 * j + 1] = a[i, j]; t[i, 2 * j] = b[i, j] * 2; output t; output s[i] : f32 = sum(j) t[i, j]; }
model pt_colours { input y : u8[3, 8, 16]; input u : u8[3, 8, 16]; r[n, i, j, 0] : f32 = y[n, i, j] + u[n, i, j] * 0.5; r[n, i, j, 2] : f32 = y[n, i, j] / 3.0; r[n, i, j, 1] : f32 = y[n, i, j] - u[n, i, j] * 0.25; output r; }
model pt_stack { input a : i32[24]; input b : i32[24]; input c : i32[24]; input d : i32[24]; t[i, 0] = a[i]; t[i, 3] = b[i]; t[i, 2] = c[i]; t[i, 1] = d[i]; output t; }
model pt_strands_left_out { input a : f32[16]; t : f32[16, 3] = 7; t[i, 0] = a[i]; t[i, 2] = a[i] * a[i]; output t; }
model pt_strands_offset { input a : f16[4, 20]; u[i, 2 * j] = a[i, j]; u[i, 2 * j + 1] = -a[i, j]; output u; }
// reads that alternate: whole runs, parts of them, two of one tensor, and such as do not fit
model wv_boxes { input a : f32[5, 4]; input b : f32[16, 4]; w[i, j] = min(a[i, 2], b[j, 2]) - max(a[i, 0], b[j, 0]); output y[i, j] = w[i, j] * (min(a[i, 3], b[j, 3]) - max(a[i, 1], b[j, 1])); }
model wv_points { input p : f16[3, 24, 3]; input q : f16[24]; output y[n, i] = p[n, i, 0] * p[n, i, 1] + p[n, i, 2] * q[i]; }
model wv_most { input p : u8[64, 4]; output y[i] : f32 = p[i, 1] * 0.5 + p[i, 3]; output z[i] : f32 = p[i, 0] - p[i, 1]; }
model wv_next { input p : f32[66, 2]; output y[i in 0..64] = p[i, 0] * p[i + 1, 1] - p[i, 1] * p[i + 1, 0] + p[i + 2, 0]; }
model wv_summed { input p : f32[7, 3]; input q : f32[40, 3]; output y[i] = sum(j) (p[i, 0] * q[j, 1] - p[i, 1] * q[j, 0]) * exp(-abs(q[j, 2])); }
