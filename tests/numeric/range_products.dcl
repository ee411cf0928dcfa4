// Sums over ranges that rows decide, as products: of zeros out of the range,
// and what is not finite there is not in the sum.
model rp_f16 { input a : f16[80, 80]; input x : f16[80, 72]; output y[i, k] = sum(j in 0..i + 1) a[i, j] * x[j, k]; }
model rp_bf16 { input a : bf16[130, 150]; input x : bf16[150, 72]; output y[i, k] = relu(sum(j in 0..i + 1) a[i, j] * x[j, k]) + 1; }
model rp_f32 { input a : f32[130, 150]; input x : f32[150, 72]; output y[i, k] = sum(j in 0..i + 1) a[i, j] * x[j, k]; }
model rp_mixed { input a : f32[70, 75]; input x : f16[75, 72]; output y[i, k] : f16 = sum(j in 0..i + 1) a[i, j] * x[j, k]; }
model rp_i8 { input a : i8[80, 80]; input x : f16[80, 72]; output y[i, k] = sum(j in 0..i + 1) a[i, j] * x[j, k]; }
model rp_upper { input a : f16[80, 90]; input x : f16[90, 72]; output y[i, k] = sum(j in i..90) a[i, j] * x[j, k]; }
model rp_band { input a : f16[97, 97]; input x : f16[97, 72]; output y[i, k] = sum(j in max(0, i - 9)..i + 1) a[i, j] * x[j, k]; }
model rp_blocks { input a : f16[3, 96, 96]; input x : f16[3, 96, 66]; output y[b, i, k] = sum(j in 0..(i / 16 + 1) * 16) a[b, i, j] * x[b, j, k]; }
model rp_from_a_row { input a : f16[80, 96]; input x : f16[96, 66]; output y[i, k] = sum(j) (i >= 40 || j < 10 ? a[i, j] * x[j, k] : 0); }
model rp_columns { input a : f16[80, 96]; input x : f16[96, 66]; output y[i, k] = sum(j in k..96) a[i, j] * x[j, k]; }
model rp_across { input a : f16[96, 80]; input x : f16[66, 96]; output y[i, k] = sum(j in 0..i) a[j, i] * x[k, j]; }
model rp_lengths { input n : i32[80]; input a : f16[80, 96]; input x : f16[96, 66]; output y[i, k] = sum(j in 0..min(n[i], 96)) a[i, j] * x[j, k]; }
model rp_images { input a : f16[2, 70, 9, 10]; input x : f16[9, 10, 66]; output y[b, i, k] = sum(p in 0..9, q in 0..10) (p * 10 + q <= i ? a[b, i, p, q] * x[p, q, k] : 0); }
model rp_integers { input a : i8[80, 80]; input x : i8[80, 72]; output y[i, k] = sum(j in 0..i + 1) a[i, j] * x[j, k]; }
model rp_of_both { input a : f16[80, 80]; input x : f16[80, 72]; output y[i, k] = sum(j in 0..min(i + k, 80)) a[i, j] * x[j, k]; }
model rp_not_finite { input a : f16[70, 80]; input z : f16[80, 72]; x[j, k] : f16 = j == 33 && k % 5 == 0 ? inf : j == 60 ? log(-1.0 - z[j, k] * z[j, k]) : z[j, k]; output y[i, k] : f32 = max(min(sum(j in 0..i + 1) a[i, j] * x[j, k], 1e6), -1e6); output n[i, k] : f32 = max(min(sum(j in i..80) a[i, j] * a[i, j] * x[j, k], 1e6), -1e6); }
model rp_large { input a : f16[264, 520]; input x : f16[520, 264]; output y[i, k] = sum(j in 0..i + 1) a[i, j] * x[j, k]; }
model rp_large_band { input a : bf16[2, 328, 328]; input x : bf16[2, 328, 200]; output y[b, i, k] : f32 = sum(j in max(0, i - 40)..i + 1) a[b, i, j] * x[b, j, k]; }
model rp_large_not_finite { input a : f16[264, 264]; input z : f16[264, 264]; x[j, k] : f16 = j == 133 && k % 5 == 0 ? inf : j == 160 ? log(-1.0 - z[j, k] * z[j, k]) : z[j, k]; output y[i, k] : f32 = max(min(sum(j in 0..i + 1) a[i, j] * x[j, k], 1e6), -1e6); }
model rp_many_tiles { input a : f16[1030, 328]; input x : f16[328, 1032]; output y[i, k] = sum(j in max(0, i / 4 - 100)..i / 4 + 70) a[i, j] * x[j, k]; }
model rp_many_upper { input a : bf16[1030, 264]; param x : bf16[264, 1032]; input z : bf16[1032]; output y[i, k] = (sum(j in i / 4..264) a[i, j] * x[j, k]) + z[k]; }
model rp_gradients { input a : f32[40, 50]; input x : f32[50, 30]; input u : f32[40, 30]; y[i, k] = sum(j in 0..i + 1) a[i, j] * x[j, k]; r[i] = sum(k) y[i, k] * u[i, k]; loss[] = sum(i) r[i]; output loss; output da = grad(loss, a); output dx = grad(loss, x); }
model rp_gradients_f16 { input a : f16[80, 90]; input x : f16[90, 72]; input u : f16[80, 72]; y[i, k] : f32 = sum(j in max(0, i - 20)..i + 1) a[i, j] * x[j, k]; loss[] = sum(i, k) y[i, k] * u[i, k] * 0.01; output loss; output da = grad(loss, a); output dx = grad(loss, x); }
model rp_gradients_of_three { input a : f32[30, 40]; input b : f32[40, 41]; input c : f32[41, 20]; y[i, l] = sum(j in 0..i + 1, k) a[i, j] * b[j, k] * c[k, l]; loss[] = sum(i, l) y[i, l] * y[i, l]; output loss; output da = grad(loss, a); output db = grad(loss, b); output dc = grad(loss, c); }
model rp_two_ranges { input a : f16[80, 80]; input x : f16[80, 72]; input z : f32[80, 30]; output y[i, k] = sum(j) (j <= i ? abs(a[i, j]) * x[j, k] : 0); m[i, j] = f16(j <= i ? abs(a[i, j]) : 0); output q[j, i] = m[i, j] * 2; output w[i, k] : f32 = sum(j in max(0, i - 50)..80) m[i, j] * z[j, k]; }
