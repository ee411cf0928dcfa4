// Neighbours of contractions, reductions and views in every odd arrangement.
model gn_concat_products { input x : f16[12, 32]; param w1 : f16[8, 32]; param w2 : f16[24, 32];
  output y = relu(concat(linear(x, w1), linear(x, w2), axis = 1)); }
model gn_concat_products_rows { input x : f32[5, 12]; input z : f32[7, 12]; param w : f32[9, 12];
  output y = concat(linear(x, w), linear(z, w), axis = 0) + 1; }
model gn_diag_product { input a : f32[9, 12]; input b : f32[9, 12]; m[i, j] = sum(k) a[i, k] * b[j, k]; output y[i] = m[i, i] + 1; output t[] = sum(i) m[i, i]; }
model gn_transposed_product { input a : f16[24, 32]; input b : f16[16, 32]; m[i, j] = sum(k) a[i, k] * b[j, k]; output y[j, i] = relu(m[i, j]); output z[i, j] = m[i, j] * 2; }
model gn_guard_producer { input x : f32[10]; h[i] = exp(x[i]); output y[i in 0..10] = (h[i - 2] or -1) + h[i]; }
model gn_guard_sum_producer { input x : f32[10, 6]; h[i] = sum(j) x[i, j]; output y[i in 0..10] = (h[i - 2] or -1) + h[i]; }
model gn_guard_product { input a : f32[9, 12]; param w : f32[9, 12]; m = linear(a, w); output y[i in 0..12, j in 0..9] = (m[i - 1, j] or 5) * 2; }
model gn_guard_zero_to_one { input x : f32[8]; h[i] = x[i] + 1; output y[i in 0..10] = h[i - 1] or 0; }
model gn_conv_of_relu1 { input x : f16[1, 8, 7, 7]; param w : f16[8, 8, 3, 3]; h = x + 1; output y = conv2d(h, w, pad = 1); }
model gn_pool_of_neg { input x : f16[1, 8, 7, 7]; h = -x - 3; output y = max_pool(h, kernel = 3, stride = 2, pad = 1); }
model gn_stack2 { input x : f32[7, 12]; param a : f32[5, 12]; param b : f32[5, 12]; p = linear(x, a); q = linear(x, b); output y = p * q; }
model gn_stack_gate { input x : f16[9, 32]; param a : f16[24, 32]; param b : f16[24, 32]; param c : f16[32, 24];
  output y = linear(silu(linear(x, a)) * linear(x, b), c) + x; }
model gn_stack3_bias { input x : f16[9, 32]; param a : f16[16, 32]; param b : f16[16, 32]; param c : f16[16, 32];
  param ba : f16[16]; param bb : f16[16]; param bc : f16[16];
  output q = linear(x, a, ba); output k = linear(x, b, bb); output v = linear(x, c, bc); }
model gn_stack3_some_bias { input x : f16[9, 32]; param a : f16[16, 32]; param b : f16[16, 32]; param c : f16[16, 32];
  param ba : f16[16]; param bc : f16[16];
  q = linear(x, a, ba); k = linear(x, b); v = linear(x, c, bc); output y = q * k + v; }
model gn_stack_out_and_read { input x : f32[9, 20]; param a : f32[16, 20]; param b : f32[16, 20];
  output q = linear(x, a); k = linear(x, b); output y = q + k; output z = softmax(q); }
model gn_stack8 { input x : f32[3, 9]; param w0 : f32[4, 9]; param w1 : f32[4, 9]; param w2 : f32[4, 9]; param w3 : f32[4, 9];
  param w4 : f32[4, 9]; param w5 : f32[4, 9]; param w6 : f32[4, 9]; param w7 : f32[4, 9]; param w8 : f32[4, 9];
  output y = linear(x, w0) - linear(x, w1) * linear(x, w2) - linear(x, w3) * linear(x, w4) - linear(x, w5) * linear(x, w6) - linear(x, w7) * linear(x, w8); }
model gn_stack_same_weight { input x : f32[3, 9]; param w : f32[4, 9]; param b1 : f32[4]; param b2 : f32[4];
  output y = linear(x, w, b1) * linear(x, w, b2); }
model gn_stack_swapped { input x : f32[9, 9]; param w : f32[9, 9]; param v : f32[9, 9];
  a[i, j] = sum(k) x[i, k] * w[j, k]; b[i, j] = sum(k) x[i, k] * v[k, j]; output y = a - b; }
model gn_stack_chain { input x : f32[5, 8]; param w1 : f32[8, 8]; param w2 : f32[8, 8]; param w3 : f32[8, 8];
  a = linear(x, w1); b = linear(x, w2); c = linear(a, w3); output y = a + b + c; }
model gn_stack_dependent { input x : f32[5, 8]; param w1 : f32[8, 8]; param w2 : f32[8, 8]; param b : f32[8];
  a = linear(x, w1) + 1; c = linear(x, w2) + sum(a, axis = -1, keep = true); output y = a * c; }
model gn_stack_conv { input x : f16[1, 8, 6, 6]; param w1 : f16[8, 8, 3, 3]; param w2 : f16[8, 8, 3, 3];
  output y = relu(conv2d(x, w1, pad = 1)) + relu(conv2d(x, w2, pad = 1)); }
model gn_stack_other_views { input x : f32[2, 6, 8]; param w1 : f32[8, 8]; param w2 : f32[8, 8];
  q = transpose(linear(x, w1), perm = [0, 2, 1]); k = linear(x, w2); output y = matmul(k, q); output z = k + 1; }
model gn_stack_heads { input x : f16[6, 32]; param w1 : f16[32, 32]; param w2 : f16[32, 32]; param w3 : f16[32, 32]; param b1 : f16[32]; param b2 : f16[32]; param b3 : f16[32];
  q = linear(x, w1, b1); k = linear(x, w2, b2); v = linear(x, w3, b3);
  s[h in 0..4, i in 0..6, j in 0..6] : f32 = sum(d in 0..8) q[i, h * 8 + d] * k[j, h * 8 + d] / sqrt(8);
  p : f16 = softmax(s); output o[i, d in 0..32] : f16 = sum(j) p[d / 8, i, j] * v[j, d]; }
model gn_stack_nofuse { input x : f32[5, 8]; param w1 : f32[8, 8]; param w2 : f32[8, 8];
  a = linear(x, w1); @nofuse b = linear(x, w2); output y = a * b; }
model gn_tied { input ids : i32[5] in 0..11; param t : f16[11, 16]; param w : f16[16, 16];
  h = relu(linear(embedding(ids, t), w)); output y = linear(h, t); output z = softmax(linear(h + 1, t)); }
model gn_many_readers { input x : f32[9, 14]; param w : f32[10, 14]; z = linear(x, w);
  output a = relu(z); output b = z * 2; output c[j, i] = z[i, j]; output d[i] = sum(j) z[i, j]; output e = softmax(z); }
model gn_rows_of_rows { input x : f32[4, 6, 10]; s[i, j] = sum(k) x[i, j, k]; output y[i] = max(j) s[i, j]; output z[j] = sum(i) s[i, j]; }
model gn_norm_of_norm { input x : f32[4, 24]; output y = layer_norm(softmax(layer_norm(x))); }
model gn_softmax_axis0 { input x : f32[9, 5]; output y = softmax(x * 2, axis = 0); }
model gn_softmax_both { input x : f32[9, 5]; output y = softmax(x, axis = 0) * softmax(x, axis = 1); }
model gn_rank0 { input a : f32; input b : f32; c = a * b; d = exp(-abs(c)); output y = d + c; output z[i in 0..3] = c * i + d; }
model gn_rank0_sum { input x : f32[33]; s[] = sum(i) x[i]; m[] = max(i) x[i]; output y[] = s / m; output z[i] = x[i] - s * m; }
model gn_rank0_chain { input x : f32[33]; n = sqrt(sum(x * x)); output y = x / n; }
model gn_output_read { input x : f32[7, 9]; output a = relu(x); output b = a + 1; output c = softmax(b); }
model gn_output_of_input { input x : f32[7, 9]; output y = x; }
model gn_output_of_param { param w : f32[7, 9]; input x : f32[2]; output y = w; output z = x + 1; }
model gn_output_view { input x : f16[6, 8]; output y = transpose(x, perm = [1, 0]); output z = reshape(x, shape = [48]); output s = slice(x, axis = 1, first = 2, last = 7); }
model gn_output_twice { input x : f32[5]; a = exp(x); output y = a; output z = a; }
model gn_output_of_param_fn { param w : f32[7, 9]; output y[j, i] = w[i, j] * 2; }
model gn_output_const { input x : f32[3]; output y[i in 0..4, j in 0..5] : f32 = i * 10 + j; output z = x; }
model gn_ints { input x : i8[6, 20]; input z : i8[6, 20]; a = x * z; b = a + x; output y[i] = sum(j) b[i, j]; output m = max(b, 7) ; output c = b > a; }
model gn_bools { input x : f32[6, 9]; m = x > 0; n = m && x < 1; output c[i] = sum(j) n[i, j]; output y = n ? x : 0 - x; output b = n; }
model gn_i32_mean { input x : i32[6, 9]; output m[i] = mean(j) x[i, j]; output v[i, j] = x[i, j] - m[i]; }
model gn_i8_store { input x : f32[6, 9]; q : i8 = i8(x * 30); output y[i, k] = sum(j) q[i, j] * q[k, j]; output d = q * 0.1; }
model gn_f16_rounding { input x : f16[40, 40]; a : f16 = x * 3.1; b : f16 = a * a; output y = b - a; }
model gn_f16_cast { input x : f32[40]; a = f16(x); output y : f32 = a * 1.5; output z = x - a; }
model gn_argmax_around { input x : f32[6, 17]; h = x * x; a[i] = argmax(j) h[i, j]; output y = a + 1; output z[i] = h[i, a[i]]; output m[i] = max(j) h[i, j]; }
model gn_argmax_of_product { input x : f32[6, 17]; param w : f32[13, 17]; output y[i] = argmax(j) sum(k) x[i, k] * w[j, k]; }
model gn_same_tensor_twice { input x : f32[9, 9]; h = tanh(x); output y[i, j] = h[i, j] * h[j, i]; output z[i, j] = sum(k) h[i, k] * h[j, k]; }
model gn_gram { input x : f16[16, 24]; output y[i, j] = sum(k) x[i, k] * x[j, k]; }
model gn_self_product { input x : f32[12, 12]; output y = matmul(x, x); }
model gn_param_packed_and_gathered { input x : f16[1, 16, 5, 5]; input ids : i32[4] in 0..16; param w : f16[16, 16, 3, 3];
  output y = conv2d(x, w, pad = 1); output z[i, c, r, s] = w[ids[i], c, r, s]; }
model gn_inplace_chain { input x : f32[4, 6]; input a : f32[6]; input b : f32[4, 1]; h = x; h = h + a; h = h + b; h = h * a; h = h - x; output y = h; }
// Pointwise kernels of the same points that read the same
model gn_siblings { input x : f16[7, 40]; input w : f16[7, 40]; output y = x * 2; output z = exp(x) + w; output u = w - 1; }
model gn_siblings_rotary { input x : f16[2, 3, 5, 16]; param w : f16[16, 16]; h = linear(x, w);
  c[s in 0..5, d in 0..8] : f16 = cos(s * 0.1 * d); n[s in 0..5, d in 0..8] : f16 = sin(s * 0.1 * d);
  y[b, k, s, d in 0..8] = h[b, k, s, d] * c[s, d] - h[b, k, s, d + 8] * n[s, d];
  y[b, k, s, d in 8..16] = h[b, k, s, d] * c[s, d - 8] + h[b, k, s, d - 8] * n[s, d - 8];
  output o[b, k, i, j] = sum(d) y[b, k, i, d] * y[b, k, j, d]; }
model gn_siblings_waiting { input x : f32[6, 20]; a = exp(x); m[i] = max(j) a[i, j]; output y = x * 2; output z[i, j] = x[i, j] - m[i]; }
// neighbours in two rows of one result, the row ahead of the other, too
model two_rows { input x : bf16[1, 4, 5, 2]; output t : f32 = upsample(x, mode = "bilinear"); output y : f32 = upsample(t); }
