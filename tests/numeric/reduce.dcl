// Reductions: every operation, element type and axis, ragged extents.
model sum_f32_rows { input x : f32[5, 131]; output y[i] = sum(j) x[i, j]; }
model sum_f32_columns { input x : f32[131, 5]; output y[j] = sum(i) x[i, j]; }
model sum_f16 { input x : f16[3, 300]; output y[i] : f32 = sum(j) x[i, j]; }
model sum_f16_stored { input x : f16[3, 300]; output y[i] = sum(j) x[i, j]; }
model sum_bf16 { input x : bf16[7, 64]; output y[i] : f32 = sum(j) x[i, j]; }
model sum_i8 { input x : i8[4, 100]; output y[i] = sum(j) x[i, j]; }
model sum_i32 { input x : i32[4, 100]; output y[i] = sum(j) x[i, j]; }
model sum_bool { input x : f32[4, 100]; output y[i] = sum(j) (x[i, j] > 0); }
model sum_all { input x : f32[7, 11, 13]; output y[] = sum(i, j, k) x[i, j, k]; }
model sum_middle { input x : f32[3, 37, 5]; output y[i, k] = sum(j) x[i, j, k]; }
model sum_one { input x : f32[6, 1]; output y[i] = sum(j) x[i, j]; }
model sum_long { input x : f32[2, 5000]; output y[i] = sum(j) x[i, j]; }
model sum_product { input x : f32[6, 41]; input z : f32[41]; output y[i] = sum(j) x[i, j] * z[j]; }
model mean_f32 { input x : f32[5, 77]; output y[i] = mean(j) x[i, j]; }
model mean_i32 { input x : i32[5, 77]; output y[i] = mean(j) x[i, j]; }
model max_f32 { input x : f32[9, 65]; output y[i] = max(j) x[i, j]; }
model max_f16 { input x : f16[9, 65]; output y[i] = max(j) x[i, j]; }
model max_i8 { input x : i8[9, 65]; output y[i] = max(j) x[i, j]; }
model min_f32 { input x : f32[9, 65]; output y[i] = min(j) x[i, j]; }
model min_i32 { input x : i32[9, 65]; output y[i] = min(j) x[i, j]; }
model prod_f32 { input x : f32[9, 23]; output y[i] = prod(j) x[i, j]; }
model prod_i32 { input x : i32[9, 5] in 1..9; output y[i] = prod(j) x[i, j]; }
model argmax_f32 { input x : f32[9, 65]; output y[i] = argmax(j) x[i, j]; }
model argmax_tied_columns { input x : i8[37, 301]; output y = argmax(x); }
model argmax_tied_rows { input x : i8[301, 40]; output y[j] = argmax(i) x[i, j]; }
model argmax_long { input x : f16[3, 40001]; output y = argmax(x); }
model argmax_columns { input x : f32[65, 9]; output y[j] = argmax(i) x[i, j]; }
model argmax_ties { input x : i32[21, 40] in 0..5; output y[i] = argmax(j) x[i, j]; }
model argmin_f32 { input x : f32[9, 65]; output y[i] = argmin(j) x[i, j]; output z = argmin(x, axis = 0); }
model argmin_ties { input x : i32[21, 40] in 0..5; output y[i] = argmin(j in 3..40) x[i, j]; }
model argmin_least { input x : i32[21, 40] in -2147483647..-2147483644; output y[i] = argmin(j) (x[i, j] - 1); }
model argmin_u8 { input x : u8[7, 300]; input b : bool[7, 12]; output y[i] = argmin(j) x[i, j]; output z[i] = argmin(j) b[i, j]; }
model argmax_float_ties { input x : f32[21, 40]; output y[i] = argmax(j) floor(x[i, j]); }
// a NaN is not the greatest, nor the least, where there is another value
model argmax_nan { input x : f32[3, 40]; t[i, j] = j % 2 == 0 ? sqrt(-1 - x[i, j] * x[i, j]) : -inf; output y[i] = argmax(j) t[i, j]; output z[i] = argmin(j) (-t[i, j]); output m[i] = max(j) t[i, j]; }
model argmax_one { input x : f32[4, 1]; output y[i] = argmax(j) x[i, j]; }
model argmax_f16_long { input x : f16[3, 1500]; output y[i] = argmax(j) x[i, j]; }
model reduce_ranged { input x : f32[4, 50]; output y[i] = sum(j in 7..31) x[i, j]; }
model reduce_reduce { input x : f32[4, 6, 50]; output y[i] = max(j) (sum(k) x[i, j, k]); }
model reduce_then_map {
  input x : f32[6, 45];
  output y[i] = sqrt(sum(j) x[i, j] * x[i, j]) + 1;
}
model reduce_normalise {
  input x : f32[6, 45];
  n[i] = sum(j) abs(x[i, j]);
  output y[i, j] = x[i, j] / n[i];
}
model reduce_divide_small { input x : f32[6, 45]; n[i] = 0.00000000000000000000000000000000001 * (0.0001 + 0.001 * max(j) abs(x[i, j])); output y[i, j] = x[i, j] * 0.00000000000000000000000000000000001 / n[i]; }
model reduce_divide_large { input x : f32[6, 45]; n[i] = 30000000000000000000000000000000000000.0 * (1 + max(j) abs(x[i, j])); output y[i, j] = x[i, j] * 30000000000000000000000000000000000000.0 / n[i]; }
model reduce_two { input x : f32[7, 33]; output a[i] = sum(j) x[i, j]; output b[i] = max(j) x[i, j]; }
model reduce_ops {
  input x : f32[3, 4, 5];
  output a = sum(x);
  output b = mean(x, axis = 0);
  output c = variance(x, axis = 1);
  output d = argmax(x, axis = 1, keep = true);
}
model reduce_triangle { input x : f32[12, 12]; output y[i] = sum(j) (j <= i ? x[i, j] : 0); }
model reduce_close { input x : f32[1, 200, 4]; z : bf16 = x * 0.001 + 1; output y = argmax(z); }
// Groups of a few channels, which lie fastest: rows side by side in a block.
model rd_beside { input x : f16[2, 9, 16, 64]; param g : f16[64]; param b : f16[64];
  m[n, i in 0..16] : f32 = mean(p, q, c in 0..4) x[n, p, q, i * 4 + c];
  v[n, i] : f32 = mean(p in 0..9, q in 0..16, c in 0..4) (x[n, p, q, i * 4 + c] - m[n, i]) * (x[n, p, q, i * 4 + c] - m[n, i]);
  output y[n, p, q, k] = silu((x[n, p, q, k] - m[n, k / 4]) * rsqrt(v[n, k / 4] + 1e-5) * g[k] + b[k]); }
model rd_beside_three { input x : bf16[3, 35, 96]; output s[n, i in 0..32] = max(p, c in 0..3) x[n, p, 3 * i + c];
  output t[n, i in 0..32] = sum(p in 0..35, c in 0..3) abs(x[n, p, 3 * i + c]); }
model rd_beside_two { input x : f32[1, 700, 32]; m[i in 0..16] = max(p, c in 0..2) x[0, p, 2 * i + c];
  e[i in 0..16, p, c in 0..2] = exp(x[0, p, 2 * i + c] - m[i]); z[i] = sum(p, c) e[i, p, c]; output y[p in 0..700, i, c] = e[i, p, c] / z[i]; }
