// Running values: along the fastest index and others, from both ends
model px_sum { input x : f32[5, 300]; output y[b, i in 0..300] = sum(k in 0..i + 1) x[b, k]; }
model px_exclusive { input x : f16[70, 4, 9]; s[i in 0..70, j, l] = sum(k in 0..i) x[k, j, l]; output y[i, j, l] = exp(-s[i, j, l] * 0.01) * x[i, j, l]; }
model px_back { input x : f32[3, 2, 1027]; output y[i in 0..1027, j] = sum(k in i..1027) x[1, j, k] * x[2, j, k]; }
model px_most { input x : bf16[6, 513]; input w : f32[6]; output y[b, i in 0..513] = w[b] + max(k in 0..i + 1) x[b, k]; output z[b, i in 0..513] = min(k in i..513) abs(x[b, k]); }
model px_product { input x : f32[9, 64]; output y[b, i in 0..64] = prod(k in 0..i + 1) (1 + 0.01 * x[b, k]); }
model px_counts { input x : i32[4, 1000] in -5..50; output y[i in 0..1000, b] = sum(k in 0..i + 1) x[b, k]; output z[b, i in 0..1000] : i32 = max(k in 0..i) x[b, k]; output n[b, i in 0..1000] = sum(k in 0..i + 1) (x[b, k] > 7 ? 1 : 0); }
model px_shorter { input x : f32[8, 40]; output y[b, i in 0..25] = sum(k in 0..i + 1) x[b, k]; output z[b, i in 0..25] = sum(k in i..25) x[b, k + 15]; output late[b, i in 0..60] = sum(k in 0..min(i - 9, 40)) x[b, k]; }
model px_one { input x : f32[2000]; output y[i in 0..2000] = sum(k in 0..i + 1) x[k] * x[1999 - k]; }
model px_steps { input x : f16[7, 96, 8]; param g : f32[8]; y[b, i in 0..96, c] = sum(k in 0..i + 1) x[b, k, c]; m[b, i, c] = y[b, i, c] / (i + 1); output o[b, i, c] = (x[b, i, c] - m[b, i, c]) * g[c]; output m; }
model px_state { state s : f32[4, 32] = 0; input x : f32[4, 32]; n[b, i in 0..32] = s[b, i] + sum(k in 0..i + 1) x[b, k]; s = n; output y = n; }
model px_lines { input x : f16[2, 96, 45]; output y[b, i in 0..96, j] : f16 = sum(k in 0..i + 1) x[b, k, j]; output z[b, i in 0..96, j] : f32 = max(k in i..96) x[b, k, j]; }
model px_lines_prime { input x : f32[127, 3, 40]; input w : f32[3]; output y[i in 0..127, c, j] = w[c] + sum(k in 0..i) x[k, c, j]; }
