// Sums of several factors, in pairs: chains, forms, decompositions, by types;
// guards and gathers among them; and what stays one sum. The flavour of this
// name has a GPU whose launches and memory take nothing: small sizes are split.
model pa_chain_f16 { input a : f16[67, 40]; input b : f16[40, 71]; input c : f16[71, 70]; output y[i, l] = sum(j, k) a[i, j] * b[j, k] * c[k, l]; }
model pa_chain_bf16 { input a : bf16[70, 33]; input b : bf16[33, 40]; input c : bf16[40, 66]; output y[i, l] = sum(j, k) a[i, j] * b[j, k] * c[k, l]; }
model pa_chain_f32 { input a : f32[67, 19]; input b : f32[19, 35]; input c : f32[35, 70]; output y[i, l] = sum(j, k) a[i, j] * b[j, k] * c[k, l]; }
model pa_chain_mixed { input a : f16[67, 40]; input b : f32[40, 35]; input c : bf16[35, 70]; param s : i8[70]; output y[i, l] : f32 = sum(j, k) a[i, j] * b[j, k] * c[k, l] * s[l] / 3; }
model pa_chain_i8 { input a : f16[67, 40]; param b : i8[40, 35]; param c : u8[35, 70]; output y[i, l] : f32 = sum(j, k) a[i, j] * b[j, k] * c[k, l] * 0.01; }
model pa_nested { input a : f16[9, 41]; input b : f16[41, 51]; input c : f16[51, 60]; t[j, l] : f32 = sum(k) b[j, k] * c[k, l]; output y[i, l] = sum(j) a[i, j] * t[j, l]; }
model pa_nested_scaled { input q : f16[2, 101, 24]; input k : f16[2, 101, 24]; input v : f16[2, 101, 40]; s[h, i, j] : f32 = (sum(d) q[h, i, d] * k[h, j, d]) * 0.125; output y[h, i, e] = sum(j) s[h, i, j] * v[h, j, e]; }
model pa_nested_negative { input a : f32[9, 41]; input b : f32[41, 51]; input c : f32[51, 60]; input d : f32[9]; t[j, l] : f32 = -(sum(k) b[j, k] * c[k, l]) / (d[j % 9] + 3); output y[i, l] = sum(j) t[j, l] * a[i, j] / (d[i] + 2); }
model pa_loaded { input x : f16[150, 70]; param a : f16[70, 33]; param b : f16[33, 66]; output y[n, o] = sum(i, r) x[n, i] * a[i, r] * b[r, o]; }
model pa_low_rank { input x : f16[70, 90]; param a : f16[90, 5]; param b : f16[5, 110]; output y[n, o] = sum(i, r) x[n, i] * a[i, r] * b[r, o]; }
model pa_bilinear { input x : f16[66, 36]; param w : f16[35, 36, 40]; input z : f16[66, 40]; output y[n, o] = sum(i, j) x[n, i] * w[o, i, j] * z[n, j]; }
model pa_quadratic { input x : f32[100, 31]; param w : f32[31, 31]; output y[n] = sum(i, j) x[n, i] * w[i, j] * x[n, j]; }
model pa_trilinear { input x : bf16[66, 13]; input z : bf16[66, 14]; input u : bf16[66, 15]; param w : bf16[13, 14, 15]; output y[n] : f32 = sum(i, j, k) w[i, j, k] * x[n, i] * z[n, j] * u[n, k]; }
model pa_tucker { input g : f16[9, 10, 11]; input u : f16[13, 9]; input v : f16[17, 10]; input w : f16[19, 11]; output y[i, j, k] = sum(a, b, c) g[a, b, c] * u[i, a] * v[j, b] * w[k, c]; }
model pa_mttkrp { input x : f16[35, 26, 27]; input b : f16[26, 40]; input c : f16[27, 40]; output y[i, r] = sum(j, k) x[i, j, k] * b[j, r] * c[k, r]; }
model pa_train { input x : f16[13, 5, 4, 3]; param a : f16[5, 5, 3]; param b : f16[3, 4, 5, 2]; param c : f16[2, 3, 5]; output y[n, i, j, k] = sum(p, q, r, s, t) x[n, p, q, r] * a[p, i, s] * b[s, q, j, t] * c[t, r, k]; }
model pa_kronecker { input x : f16[17, 23, 24]; param a : f16[25, 23]; param b : f16[26, 24]; output y[n, i, j] = sum(p, q) x[n, p, q] * a[i, p] * b[j, q]; }
model pa_dispatch { input d : f16[70, 5, 9]; input x : f16[5, 9, 40]; param w : f16[5, 66, 40]; output y[t, o] = sum(e, c, h) d[t, e, c] * x[e, c, h] * w[e, o, h]; }
model pa_range { input a : f16[70, 70]; input b : f16[70, 50]; input c : f16[50, 70]; output y[i, l] = sum(j in 0..i + 1, k) a[i, j] * b[j, k] * c[k, l]; }
model pa_empty { input a : f16[70, 70]; input b : f16[70, 50]; input c : f16[50, 70]; output y[i, l] = sum(j in i + 1..70, k) a[i, j] * b[j, k] * c[k, l]; }
model pa_range_of_both { input a : f32[30, 30]; input b : f32[30, 30]; input c : f32[30, 40]; input d : f32[40, 50]; output y[i, l] = sum(j, k in 0..j + 1, m) a[i, j] * b[j, k] * c[k, m] * d[m, l]; }
model pa_range_of_data { input n : i32[9]; input a : f32[9, 30]; input b : f32[30, 31]; input c : f32[31, 40]; output y[i, l] = sum(j in 0..min(n[i], 30), k) a[i, j] * b[j, k] * c[k, l]; }
model pa_window { input x : f16[3, 20, 24]; input f : f16[3, 24]; param w : f16[30, 24]; param v : f16[30, 66]; output y[n, p in 0..20, o] = sum(r in 0..3, c, m) (x[n, p + r - 1, c] or 0) * f[r, c] * w[m, c] * v[m, o]; }
model pa_choice { input x : f32[20, 30]; input w : f32[30, 31]; input v : f32[31, 9]; output y[i, l] = sum(j, k) (j < i ? x[i, j] : 2) * w[j, k] * v[k, l]; }
model pa_gather { input ids : i32[70] in 0..50; param t : f16[50, 40]; param a : f16[40, 50]; param b : f16[50, 66]; output y[n, o] = sum(i, r) t[ids[n], i] * a[i, r] * b[r, o]; }
model pa_apart { input a : f16[50, 70]; input b : f16[31, 40]; output y[i, k] = sum(j, l) a[i, j] * b[l, k]; }
model pa_long { input a : f32[3, 3]; input b : f32[3, 3]; output y[i, k] = sum(c, d, e, f, g, h, l, m) a[i, c] * a[c, d] * b[d, e] * a[e, f] * a[f, g] * b[g, h] * a[h, l] * b[l, m] * a[m, k]; }
model pa_unused { input a : f16[37, 40]; input b : f16[40, 35]; input c : f16[35, 30]; output y[i, l] : f32 = sum(j, k, n in 0..3) a[i, j] * b[j, k] * c[k, l]; }
model pa_gradients { input a : f32[20, 25]; input b : f32[25, 26]; input c : f32[26, 24]; y[i, l] = sum(j, k) a[i, j] * b[j, k] * c[k, l]; loss[] = sum(i, l) y[i, l] * y[i, l]; output loss; output da = grad(loss, a); output db = grad(loss, b); output dc = grad(loss, c); }
model pa_gradients_f16 { input x : f16[30, 26]; param w : f16[15, 26, 20] = normal(0.1); input z : f16[30, 20]; y[n, o] : f32 = sum(i, j) x[n, i] * w[o, i, j] * z[n, j]; loss[] = sum(n, o) y[n, o] * 0.1; output loss; output dw = grad(loss, w); output dx = grad(loss, x); }
// these stay: nothing leaves a sum; integers; read twice; rounded
model pa_one_of_rows { input a : f16[70, 90]; input s : f32[90]; input b : f16[90, 66]; output y[i, l] = sum(j) a[i, j] * b[j, l] * s[j]; }
model pa_three_of_rank { input u : f16[17, 30]; input v : f16[18, 30]; input w : f16[19, 30]; output y[i, j, k] = sum(r) u[i, r] * v[j, r] * w[k, r]; }
model pa_integers { input a : i8[20, 30]; input b : i8[30, 31]; input c : i8[31, 20]; output y[i, l] = sum(j, k) a[i, j] * b[j, k] * c[k, l]; }
model pa_read_twice { input a : f16[9, 41]; input b : f16[41, 51]; input c : f16[51, 60]; t[j, l] : f32 = sum(k) b[j, k] * c[k, l]; output y[i, l] = sum(j) a[i, j] * t[j, l]; output z[j] : f32 = max(l) t[j, l]; }
model pa_rounded { input a : f16[9, 41]; input b : f16[41, 51]; input c : f16[51, 60]; t[j, l] = sum(k) b[j, k] * c[k, l]; output y[i, l] = sum(j) a[i, j] * t[j, l]; }
