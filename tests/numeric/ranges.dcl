// Ranges that depend on an index outside
model tr_cumsum { input x : f32[5, 40]; output y[b, d in 0..40] = sum(k in 0..d + 1) x[b, k]; }
model tr_suffix { input x : f16[40, 8]; output y[d in 0..40, j] : f32 = max(k in d..40) x[k, j]; output z[d in 0..40, j] = argmin(k in d..40) x[k, j]; }
model tr_mean { input x : f32[5, 40]; output y[b, d in 0..40] = mean(k in max(d - 3, 0)..min(d + 4, 40)) x[b, k]; }
// means over several: an adaptive pool, and ranges that depend on each other
model tr_means { input x : f16[2, 11, 7]; output y[b, i in 0..3, j in 0..2] = mean(r in i * 11 / 3..((i + 1) * 11 + 2) / 3, s in j * 7 / 2..((j + 1) * 7 + 1) / 2) x[b, r, s]; }
model tr_mutual { input x : f32[5, 9, 9]; input n : i32[5] in 0..10; output z[] = mean(b, i, j in 0..i + 1) x[b, i, j]; output w[b] = mean(i in 0..n[b], j in max(i - b, 0)..i + 1, k in 1..3) x[b, i, j] * k; }
model tr_triangle { input a : f16[64, 64]; input x : f16[64, 32]; output y[i, j] = sum(k in 0..i + 1) a[i, k] * x[k, j]; }
model tr_lengths { input n : i32[6] in 0..41; input x : f32[6, 40, 5]; output y[b, d] = sum(s in 0..n[b]) x[b, s, d]; output m[b, d] = max(s in 0..n[b]) x[b, s, d]; }
model tr_empty { input x : i8[5, 7]; output y[i] = max(k in 0..i) x[i, k]; output z[i] = min(k in i..4) x[i, k]; output s[i] = sum(k in 0..i - 2) x[i, k]; }
model tr_one { input x : f32[1]; input h : f16[3, 1]; output y[i in 0..1] = prod(t in 0..i) x[t]; output z[i in 0..1] = max(t in i + 1..1) x[t]; output w[b, i in 0..1] : f32 = (sum(t in 0..i) h[b, t]) + h[b, i]; output m[i in 0..1] = mean(t in 0..i) x[t]; }
// and on a loop's variable: a triangular system, row by row
model tr_loop { input a : f32[5, 5]; input b : f32[5, 3]; x : f32[5, 3] = 0;
  for i in 0..5 { x[i, c] = b[i, c] - 0.3 * sum(k in 0..i) a[i, k] * x[k, c]; }
  for i in 0..5 { y[i, c] = x[i, c] + sum(k in i + 1..5) a[i, k] * x[k, c]; }
  for i in 0..3 { m[i, c] = max(0.5, max(k in 0..i - 1) x[k, c]); }
  output x; output y; output m; }
// data say which columns a row has: no others are gone through
model rg_bag { input t : f16[500, 24]; input ids : i32[300] in 0..500; input o : i32[41] in 0..301; output y[b in 0..40, d] : f16 = sum(m in o[b]..o[b + 1]) t[ids[m], d]; }
model rg_csr { input v : f32[300]; input c : i32[300] in 0..50; input o : i32[41] in 0..301; input x : f32[50, 20]; output y[b in 0..40, d] : f32 = sum(m in o[b]..o[b + 1]) v[m] * x[c[m], d]; }
model rg_len { input n : i32[30] in 0..70; input x : f16[30, 64, 40]; output y[b, d] : f16 = max(s in 0..min(n[b], 64)) x[b, s, d]; output z[b] : f32 = sum(s in 0..min(n[b], 64)) x[b, s, 3]; }
model rg_row { input n : i32[30] in 0..600; input x : f16[30, 600]; output z[b] : f16 = sum(s in n[b]..600) x[b, s]; output q[b] : f16 = min(s in 0..n[b]) x[b, s] * 2; }
