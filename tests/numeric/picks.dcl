// Sums of which a condition leaves one term: gathers and diagonals, in range or
// not, with further conditions; and what stays a sum.
model pk_rows { input ids : i32[40] in 0..30; param w : f16[30, 65]; output y[n, d] = sum(v in 0..30) (ids[n] == v ? w[v, d] : 0); }
model pk_bf16 { input ids : i32[40]; input w : bf16[30, 65]; output y[n, d] = sum(v in 0..30) (v == ids[n] ? w[v, d] : 0); }
model pk_moved { input ids : i32[40] in -5..30; input x : f32[30, 17]; output y[n, d] = sum(v in 0..30) (v == ids[n] + 3 ? x[v, d] * x[v, d] + 1 : 0); }
model pk_wraps { input ids : i32[40]; input x : f32[30, 17]; output y[n, d] = sum(v in 0..30) (v == ids[n] + 3 ? x[v, d] : 0); }
model pk_i8 { input ids : i32[40] in -3..33; input x : i8[30, 17]; output y[n, d] = sum(v in 0..30) (v == ids[n] ? x[v, d] : 0); }
model pk_count { input ids : i32[40] in -3..33; output y[n] = sum(v in 0..30) (v == ids[n]); output z[n] : f32 = sum(v in 0..30) (v == ids[n] ? 2.5 : 0); }
model pk_diagonal { input a : f32[30, 40]; output y[i] = sum(j) (i == j ? a[i, j] : 0); output z[i in 0..50] = sum(j in 0..30) (i == j + 9 ? a[j, j] : 0); }
model pk_of_two { input ids : i32[40] in -3..33; input a : f16[30, 20, 7]; output y[n, d] = sum(v, k) (v == ids[n] && k >= d ? a[v, k, d] : 0); }
model pk_both { input i1 : i32[40] in -3..33; input i2 : i32[40]; input a : f16[30, 20]; output y[n] : f32 = sum(v, k) (v == i1[n] && i2[n] == k ? a[v, k] : 0); }
model pk_loss { input z : f32[20, 30]; input t : i32[20] in -9..40; l[b] = sum(v) (t[b] == v && t[b] > 3 ? log(abs(z[b, v]) + 1) : 0); loss[] = sum(b) l[b]; output loss; output d = grad(loss, z); }
model pk_not_finite { input ids : i32[40] in -3..33; input x : f32[30, 17]; h[v, d] = v % 3 == 0 ? log(-1.0 - x[v, d] * x[v, d]) : x[v, d]; output y[n, d] = max(sum(v in 0..30) (ids[n] == v ? h[v, d] : 0), -9.0); }
model pk_one_hot { input ids : i32[40] in 0..30; param w : f32[30, 17]; output y[n, d] = sum(v in 0..30) (ids[n] == v ? 1.0 : 0.0) * w[v, d]; }
model pk_every_second { input a : f32[30, 30]; output y[i] = sum(j) (i == 2 * j ? a[i, j] : 0); }
