// Views of views, stores of odd shape, several statements on one tensor.
model vn_reshape_product { input x : f16[4, 6, 8]; param w : f16[16, 8]; h = linear(x, w); r = reshape(h, shape = [2, 2, 6, 4, 4]); output y = transpose(r, perm = [0, 3, 1, 2, 4]) * 2; }
model vn_reshape_split { input x : f32[6, 10]; h = exp(x); r = reshape(h, shape = [4, 15]); output y[i] = sum(j) r[i, j]; output z[j] = max(i) r[i, j]; }
model vn_reshape_odd { input x : f32[6, 10]; h[i] = sum(j) x[i, j]; r = reshape(h, shape = [2, 3]); output y[j, i] = r[i, j] + 1; }
model vn_slice_write { input x : f32[5, 7]; a = exp(x); b = -x; c = concat(a, b, a, axis = 1); output y = slice(c, axis = 1, first = 2, last = 19, step = 3) + 1; output z[i] = sum(j) c[i, j]; }
model vn_concat_of_concat { input x : f32[2, 3]; a = concat(x, x * 2, axis = 0); b = concat(a, a, axis = 1); output y = softmax(b); }
model vn_concat_part_read { input x : f32[4, 8]; param w : f32[6, 8]; p = linear(x, w); c = concat(p, x, axis = 1); output y = relu(c); output z = p * 3; }
model vn_concat_state { input x : f32[1, 4]; state h : f32[3, 4] = 1; c = concat(h, x, axis = 0); output y[d] = sum(i) c[i, d]; h = slice(c, axis = 0, first = 1); }
model vn_concat_three_products { input x : f16[8, 16]; param a : f16[8, 16]; param b : f16[8, 16]; param c : f16[8, 16]; output y = concat(linear(x, a), linear(x, b), linear(x, c), axis = 1); }
model vn_concat_reductions { input x : f32[6, 10]; a = sum(x, axis = 1, keep = true); b = max_of(x); output y = concat(a, b, axis = 1) * 2; }
op max_of(x: T[N, D]) -> y: T[N, 1] { y[n, o in 0..1] = max(d) x[n, d]; }
model vn_transpose_norm { input x : f16[6, 20]; n = layer_norm(transpose(x, perm = [1, 0])); output y = transpose(n, perm = [1, 0]); }
model vn_norm_transpose_product { input x : f16[16, 32]; param w : f16[8, 16]; n = layer_norm(x); t = transpose(n, perm = [1, 0]); output y = linear(t, w); }
model vn_product_of_views { input x : f16[4, 3, 8, 8]; a = reshape(transpose(x, perm = [0, 2, 1, 3]), shape = [32, 24]); output y[i, j] = sum(k) a[i, k] * a[j, k]; }
model vn_pad_slice { input x : f32[7]; p = pad(x, axis = 0, before = 3, after = 2, value = 5); output y = slice(p, axis = 0, first = 1, last = 11, step = 2) * 2; }
model vn_pad_of_product { input x : f32[5, 6]; param w : f32[7, 6]; p = pad(linear(x, w), axis = 1, before = 1, after = 2, value = 3); output y = softmax(p); }
model vn_gather_of_product { input x : f32[5, 6]; input ids : i32[9] in 0..5; param w : f32[7, 6]; h = relu(linear(x, w)); output y[i, j] = h[ids[i], j]; }
model vn_gather_of_sum { input x : f32[5, 6]; input ids : i32[9] in 0..5; h[i] = sum(j) x[i, j]; output y[i] = h[ids[i]] * 2; }
model vn_gather_of_argmax { input x : f32[5, 6]; param t : f32[6, 4]; a = argmax(x); output y[i, j] = t[a[i], j] + x[i, a[i]]; }
model vn_scatter_by_argmax { input x : f32[6]; input v : f32[3]; state k : f32[6, 3]; a = argmax(x, axis = 0); k[a, d] = v[d]; output y = k + 1; }
model vn_index_math { input n : i32[7] in 0..5; m = n * 2 + 1; param t : f32[12, 3]; output y[i, j] = t[m[i], j]; }
model vn_index_math_state { input n : i32 in 0..3; input x : f32[4]; state k : f32[8, 4]; m = n * 2 + 1; k[m, d] = x[d]; output y[i, d] = k[i, d]; }
model vn_window_sum { input x : f32[3, 20]; output y[i, j in 0..18] = sum(r in 0..3) x[i, j + r]; output z[i, j in 0..9] = max(r in 0..4) (x[i, j * 2 + r - 1] or -inf); }
model vn_window_of_window { input x : f32[20]; a[i in 0..18] = sum(r in 0..3) x[i + r]; output y[i in 0..16] = max(r in 0..3) a[i + r]; }
model vn_cumsum_chain { input x : f32[15]; a[i in 0..15] = sum(j in 0..15) (j <= i ? x[j] : 0); output y[i] = a[i] / (i + 1); output z[i in 0..14] = a[i + 1] - a[i]; }
model vn_diagonal_chain { input x : f32[6, 6]; h = exp(x); d[i] = h[i, i]; output y[i, j] = h[i, j] / d[j]; }
model vn_outer_sum { input a : f32[6]; input b : f32[5]; s[i, j] = a[i] + b[j]; output y = softmax(s, axis = 0); output z[i, j] = s[i, j] * s[5 - i, 4 - j]; }
model vn_two_sums_ratio { input x : f32[6, 9]; a[i] = sum(j) x[i, j]; b[j] = sum(i) x[i, j]; output y[i, j] = x[i, j] / (a[i] * a[i] + b[j] * b[j]); }
model vn_three_levels { input x : f32[3, 4, 5]; a[i, j] = sum(k) x[i, j, k]; b[i] = sum(j) a[i, j]; c[] = sum(i) b[i]; output y[i, j, k] = x[i, j, k] - a[i, j] / 5 - b[i] / 20 - c / 60; }
model vn_mean_var_axis { input x : f32[4, 5, 6]; m = mean(x, axis = 1, keep = true); v = variance(x, axis = 1, keep = true); output y = (x - m) * rsqrt(v + 1e-3); }
model vn_matmul_views { input x : f16[2, 16, 24]; a = split(x, parts = 3, part = 0); b = split(x, parts = 3, part = 1); c = split(x, parts = 3, part = 2); s = softmax(matmul(a, transpose(b, perm = [0, 2, 1]))); output y = matmul(s, c); }
model vn_bool_mask { input x : f32[5, 8]; input m : bool[5, 8]; s[i, j] = m[i, j] ? x[i, j] : -inf; output y = softmax(s); output c[i] = sum(j) m[i, j]; }
model vn_negative_step { input x : f32[9, 4]; r[i in 0..9, j] = x[8 - i, j]; h = relu(r); output y[i, j] = h[i, j] - r[i, j] * 2; output z[j, i in 0..9] = r[8 - i, j]; }
model vn_param_tables { param t : f32[5, 4]; param u : f32[5, 4]; input ids : i32[6] in 0..5; s = t * u + 1; output y[i, j] = s[ids[i], j]; output z[i, j in 0..4] = t[ids[i], 3 - j]; }
model vn_load_chain { param t : f32[6, 6]; a = softmax(t); b = matmul(a, t); c[i] = sum(j) b[i, j]; input x : f32[6]; output y = x * c; output z = linear(reshape(x, shape = [1, 6]), b); }
model vn_load_output { param t : f32[6, 6]; a = softmax(t); input x : f32[2]; output y = a; output z = x; }
model vn_consts { c : f32[4, 4] = 2; input x : f32[4, 4]; d[i in 0..4, j in 0..4] : f32 = i == j; output y = matmul(x, d) + c; }
model vn_int_matmul { input a : i8[12, 32]; input b : i8[8, 32]; m[i, j] = sum(k) a[i, k] * b[j, k]; output y[i, j] : i8 = i8(f32(m[i, j]) * 0.001); output z = m; }
model vn_int_div { input x : i32[40]; output y = x / 3 + x % 5; output z = (x - 7) / -2; output s[] = sum(i) (x[i] / 4); }
model vn_i32_index_value { input x : i32[4, 6]; output y[i, j] = x[i, j] * j + i; output m[i] = max(j) (x[i, j] + j); output a[i] = argmax(j) (x[i, j] * (0 - j)); }
model vn_minmax_types { input x : i8[5, 7]; output a[i] = max(j) x[i, j]; output b[j] = min(i) x[i, j]; output c[i] = prod(j in 0..3) x[i, j]; input h : f16[5, 7]; output d[i] = max(j) h[i, j]; output e[j] = argmax(i) h[i, j]; }
model vn_double_softmax_share { input x : f16[4, 40]; e = softmax(x); output y = e * e; output z = log_softmax(x); output s[i] = sum(j) e[i, j]; }
// Casts that are none in the kernel that fuses them.
model vn_cast_away { input x : f32[33, 40]; param w : f32[30, 40]; t[i, j] = sum(k) x[i, k] * w[j, k]; a[i, j] : i8 = i8(f32(t[i, j])); b[i, j] : i32 = i32(f32(a[i, j])); output y[i in 0..33, j in 0..29] = b[i, j + 1]; output t; }
// Results that a choice stacks, read back one by one, with other sizes around, in several dimensions, and in part.
model vn_choice_slices { input x : f16[33, 40]; param w : f16[40, 40]; h = linear(x, w); z[two in 0..2, i, j] = two == 0 ? x[i, j] + h[i, j] : h[i, j]; a = reshape(slice(z, axis = 0, last = 1), shape = [33, 40]); b = reshape(slice(z, axis = 0, first = 1), shape = [33, 40]); h2 = linear(a, w); y[i, two in 0..3, j] = two == 1 ? a[i, j] + h2[i, j] : two == 2 ? h2[i, j] * 2 : b[i, j]; output u[i, j] = y[i, 1, j] + y[i, 0, j]; output v[j] = max(i) y[i, 2, j]; }
model vn_choice_not_all { input x : f32[5, 7]; z[k in 0..4, i, j] = k == 2 ? exp(x[i, j]) : k > 2 ? -x[i, j] : x[i, j]; output y[i, j] = z[2, i, j] + (z[3, i, j - 1] or 5); }
model vn_choice_both_ways { input x : f32[5, 7]; z[k in 0..2, i, j] = k == 0 ? exp(x[i, j]) : x[i, j] * 2; output y[i, j] = z[0, i, j]; output s[i, j] = sum(k) z[k, i, j]; }
model vn_choice_gathered { input x : f32[5, 7]; input ids : i32[7] in 0..5; z[k in 0..2, j] = k == 0 ? ids[j] : (ids[j] + 1) % 5; output y[j] = x[z[1, j], j] - x[z[0, j], j]; }
