// Contractions: element types, ragged sizes, layouts, prologues, epilogues.
model mm_f32_prime { input a : f32[13, 19]; input b : f32[19, 17]; output y = matmul(a, b); }
model mm_f16_prime { input a : f16[13, 19]; input b : f16[19, 17]; output y = matmul(a, b); }
model mm_bf16_prime { input a : bf16[13, 19]; input b : bf16[19, 17]; output y = matmul(a, b); }
model mm_i8 { input a : i8[13, 40]; input b : i8[40, 17]; output y = matmul(a, b); }
model mm_i32 { input a : i32[13, 19]; input b : i32[19, 17]; output y = matmul(a, b); }
model mm_f16_f32 { input a : f16[20, 24]; input b : f32[24, 12]; output y[i, j] = sum(k) a[i, k] * b[k, j]; }
model mm_f32_deep { input a : f32[33, 300]; input b : f32[300, 17]; output y = matmul(a, b); }
model mm_f16_deep { input a : f16[40, 520]; input b : f16[520, 24]; output y = matmul(a, b); }
model mm_f16_tile { input a : f16[64, 128]; input b : f16[128, 64]; output y = matmul(a, b); }
model mm_f16_over { input a : f16[65, 136]; input b : f16[136, 72]; output y = matmul(a, b); }
model mm_bf16_odd { input a : bf16[31, 257]; input b : bf16[257, 33]; output y = matmul(a, b); }
model mm_f16_f32_out { input a : f16[24, 64]; input b : f16[64, 40]; output y[i, j] : f32 = sum(k) a[i, k] * b[k, j]; }
model mm_one_row { input a : f16[1, 256]; param w : f16[48, 256]; output y = linear(a, w); }
model mm_one_column { input a : f32[29, 64]; input b : f32[64, 1]; output y = matmul(a, b); }
model mm_k_one { input a : f32[11, 1]; input b : f32[1, 9]; output y = matmul(a, b); }
model mm_outer { input a : f32[21]; input b : f32[18]; output y[i, j] = a[i] * b[j]; }
model mm_vector { input a : f32[200]; input b : f32[200]; output y[] = sum(k) a[k] * b[k]; }
model mm_linear_f32 { input x : f32[9, 50]; param w : f32[37, 50]; param b : f32[37]; output y = linear(x, w, b); }
model mm_linear_f16 { input x : f16[32, 80]; param w : f16[48, 80]; param b : f16[48]; output y = linear(x, w, b); }
model mm_linear_rank3 { input x : f16[2, 7, 40]; param w : f16[24, 40]; output y = linear(x, w); }
model mm_ta { input a : f32[19, 13]; input b : f32[19, 17]; output y[i, j] = sum(k) a[k, i] * b[k, j]; }
model mm_ta_f16 { input a : f16[48, 40]; input b : f16[48, 24]; output y[i, j] = sum(k) a[k, i] * b[k, j]; }
model mm_tb_f16 { input a : f16[40, 48]; input b : f16[24, 48]; output y[i, j] = sum(k) a[i, k] * b[j, k]; }
model mm_tab { input a : f32[19, 13]; input b : f32[17, 19]; output y[i, j] = sum(k) a[k, i] * b[j, k]; }
model mm_out_transposed { input a : f32[13, 19]; input b : f32[19, 17]; output y[j, i] = sum(k) a[i, k] * b[k, j]; }
model mm_batched { input a : f32[3, 10, 12]; input b : f32[3, 12, 9]; output y = matmul(a, b); }
model mm_batched_f16 { input a : f16[3, 33, 24]; input b : f16[3, 24, 17]; output y = matmul(a, b); }
model mm_batch_broadcast { input a : f32[4, 10, 12]; input b : f32[12, 9]; output y = matmul(a, b); }
model mm_two_k { input a : f32[6, 5, 7]; input b : f32[5, 7, 8]; output y[i, j] = sum(k, l) a[i, k, l] * b[k, l, j]; }
model mm_split_heads {
  input x : f16[10, 48];
  input z : f16[10, 48];
  output s[h in 0..3, i, j] : f32 = sum(d in 0..16) x[i, h * 16 + d] * z[j, h * 16 + d];
}
model mm_prologue {
  input a : f32[13, 30];
  input b : f32[30, 17];
  output y[i, j] = sum(k) max(a[i, k], 0) * (b[k, j] + 1);
}
model mm_scaled { input a : f32[13, 30]; input s : f32[13]; input b : f32[30, 17];
  output y[i, j] = sum(k) s[i] * a[i, k] * b[k, j] / 3; }
model mm_epilogue {
  input x : f16[24, 40];
  input r : f16[24, 32];
  param w : f16[32, 40];
  param b : f16[32];
  output y = relu(linear(x, w, b) + r);
}
model mm_gelu { input x : f16[17, 64]; param w : f16[40, 64]; param b : f16[40]; output y = gelu(linear(x, w, b)); }
model mm_two_outputs {
  input x : f32[10, 24];
  param w : f32[12, 24];
  z = linear(x, w);
  output y = relu(z);
  output s = z * z;
}
model mm_chain {
  input x : f16[16, 32];
  param w1 : f16[48, 32];
  param b1 : f16[48];
  param w2 : f16[24, 48];
  param b2 : f16[24];
  h = relu(linear(x, w1, b1));
  output y = linear(h, w2, b2);
}
model mm_shared_operand {
  input x : f16[12, 32];
  param wq : f16[16, 32];
  param wk : f16[16, 32];
  param wv : f16[24, 32];
  output q = linear(x, wq);
  output k = linear(x, wk);
  output v = linear(x, wv);
}
model mm_mask { input a : f32[20, 20]; input b : f32[20, 8]; output y[i, j] = sum(k) (k <= i ? a[i, k] : 0) * b[k, j]; }
model mm_quadratic { input a : f32[10, 14]; input b : f32[9, 14]; output y[i, j] = sum(k) (a[i, k] - b[j, k]) * (a[i, k] - b[j, k]); }
model mm_max_plus { input a : f32[10, 14]; input b : f32[14, 9]; output y[i, j] = max(k) (a[i, k] + b[k, j]); }
model mm_three { input a : f32[6, 11]; input b : f32[7, 11]; input c : f32[11]; output y[i, j] = sum(k) a[i, k] * b[j, k] * c[k]; }
model mm_param_param {
  input x : f32[6, 10];
  param u : f32[12, 8];
  param v : f32[8, 10];
  w = matmul(u, v);
  output y = linear(x, w);
}
model mm_nofuse {
  input x : f32[9, 21];
  param w : f32[14, 21];
  @nofuse z = linear(x, w);
  output y = sigmoid(z);
}
// A sum of products is a sum for each: complex numbers, a difference of three
model sums_complex { input a : f16[72, 65, 2]; input b : f16[65, 80, 2]; param s : f16[80];
  re[i, j] = s[j] + sum(k) (a[i, k, 0] * b[k, j, 0] - a[i, k, 1] * b[k, j, 1]);
  output im[i, j] : f32 = sum(k) (a[i, k, 0] * b[k, j, 1] + a[i, k, 1] * b[k, j, 0]);
  output y = relu(re); }
model sums_three { input a : f32[2, 65, 70]; input b : f32[2, 70, 67]; input c : f32[70, 67];
  output y[n, i, j] = 2 * sum(k) (-(a[n, i, k] * c[k, j]) - (a[0, i, k] * b[n, k, j] - a[n, i, 69 - k] * b[n, k, j])); }
model sums_integers { input a : i8[64, 64]; input b : i8[64, 72]; output y[i, j] = sum(k) (a[i, k] * b[k, j] - a[i, 63 - k] * b[k, j]); }
