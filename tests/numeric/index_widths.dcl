// Sub-expressions of indices leave 32 bits, and come back.
model iw_1 { input x : f32[7]; output y[i in 0..100] = x[(i * 100000000 + 7) % 7]; }
model iw_2 { input x : f32[7]; output y[i in 0..100] = x[i * 100000000 / 1500000000]; }
model iw_3 { input x : f32[9]; output y[i in 0..100] = x[min(i * 100000000, 8)] + x[max(8 - i * 1000000000, 0)]; }
model iw_4 { input x : f32[9]; output y[i in 0..100] = x[(5 - i * 1000000000) % 9] or 0; }
model iw_5 { input x : f32[9]; output y[i in 0..100] = x[i * 3000000000 - 5999999998] or 2; }
model iw_6 { input x : f32[9]; output y[i in 0..100, j in 0..3] = (i * 300000000 > j * 2000000000) ? x[i % 9] : 1; }
model iw_7 { input x : f32[9]; input p : i32[10] in 0..1000000; output y[i] = x[p[i] * 4000 % 9] + x[(p[i] * 2147483647 - 17) / 1000000000 % 9]; }
model iw_9 { input x : f32[9]; output y[i in 0..50] = x[(i + 5000000000) / 5000000000] + x[i / 3000000000] + x[(i - 20) / 4000000000 + 1]; }
model iw_10 { input x : f32[9]; output y[i in 0..50] = f32(i * 100000000) + x[i % 9]; }
model iw_11 { input x : f16[64, 40]; param w : f16[32, 40]; output y[i in 0..64, j] = sum(k) x[i * 100000000 % 64, k] * w[j, k]; }
model iw_12 { input x : f16[1, 8, 6, 6]; param w : f16[8, 8, 3, 3]; output y[n, k, p in 0..4, q in 0..4] = sum(c, r, s) (x[n, c, p + r, (q * 1000000000 + s) % 1000000000 + q] or 0) * w[k, c, r, s]; }
model iw_13 { input x : f32[9, 9]; output y[i in 0..50] = sum(k in 0..40) x[i * 50000000 % 9, (k * 100000000 + i) % 9]; output z[i in 0..50] = argmax(k in 0..9) x[i * 50000000 % 9, k * 500000000 % 9]; }
model iw_mixed { input x : f32[9]; input p : i32[9] in 0..10; output y[i in 0..9, j in 0..8] = x[max(i, ((max(j, p[i]) / 5 * 46341 * 65536) % 2) + 7) % 9] + x[(i + (j - 3) * 2147483647) / 4294967297 + 4]; }
model iw_f32_condition { input x : f32[16]; output y[i in 0..16] = i * 4294967297 - 17 > (i + 1) * 2147483648 ? x[i] : 0.5; }
model iw_nested_floor { input x : f32[40]; output y[i in 0..40] = x[((i * 65537 + 3) / 7 * 65537 + 5) / 3 / 100000 % 40] + x[((i * 7 / 3 + 3) % 56) * 3 / 5]; }
// Which weights are read is an input's matter: they are not packed at load time.
model iw_pack { param w : bf16[4, 40]; input p : i32[2] in 0..2; input x : bf16[8, 40]; output y[i in 0..2, j] = sum(k) w[p[i] * 2, k] * x[j, k]; output z[i in 0..2, j] = sum(k in 0..4) w[k, p[i] + 2 * i] * x[j, k]; }
model iw_stored { output a[i in 0..33] : i8 = (min(r in 0..1) (-3)) * -1; output b[i in 0..33] : i32 = i * 1000000000 / 7; output c[i in 0..33] : u8 = (i - 5) * 1000000000; }
model iw_wrapped { output a[i in 0..33] : i32 = max(i * 1000000000, 5); output b[i in 0..33] : i32 = abs((min(r in 0..3) (r - 5)) * -1000000000); output c[i in 0..33] : i32 = (i + 3000000000) - 3000000000; }
model iw_reduced { output a[i in 0..9] : i32 = max(k in 0..5) (k * 1000000000 + i); output b[i in 0..9] : i32 = (sum(k in 0..5) (k * 1000000000 - i)) * 7; output c[i in 0..9] = argmax(k in 0..5) (k * 1000000000 - i); }
model iw_mixed_types { input x : f32[33]; input p : i32[33]; output y[i] = f32((i * 1000000000 + p[i]) * 3) + x[i]; output z[i] : i32 = (i * 1000000000) * (i * 1000000000) * p[i]; output u[i] = x[i] * (i * 70000 * 70000); }
model iw_as_it_is { input x : f32[33]; t[i in 0..33] : i32 = i * 1000000000; output y[i] = f32(t[i]) + x[i]; output z[i] = (i * 1000000000 != i * 70000 + 3000000000) ? x[i] : 2; output u[i] = f32(i * 1000000000) * x[i] + f32(i * 1000000000 > 3 ? i * 1000000000 : 3); }
