// Contractions with sizes that tensor cores want, and every sort of prologue,
// epilogue and operand around them.
model tc_square { input a : f16[128, 96]; input b : f16[96, 128]; output y = matmul(a, b); }
model tc_bias_gelu { input x : f16[96, 128]; param w : f16[80, 128]; param b : f16[80]; output y = gelu(linear(x, w, b)); }
model tc_residual_norm {
  input x : f16[48, 64];
  input r : f16[48, 96];
  param w : f16[96, 64];
  param g : f16[96];
  param b : f16[96];
  h = linear(x, w) + r;
  output y = layer_norm(h, g, b);
  output z = h;
}
model tc_relu_first { input x : f16[64, 72]; param w : f16[40, 72]; output y[i, j] = sum(k) relu(x[i, k]) * w[j, k]; }
model tc_scaled_rows { input x : f16[64, 64]; input s : f32[64]; param w : f16[40, 64]; output y[i, j] : f16 = s[i] * sum(k) x[i, k] * w[j, k]; }
model tc_scaled_k { input x : f16[64, 64]; param s : f16[64]; param w : f16[40, 64]; output y[i, j] = sum(k) x[i, k] * s[k] * w[j, k]; }
model tc_column_scale { input x : f16[64, 64]; param s : f32[40]; param w : f16[40, 64]; output y[i, j] : f16 = sum(k) x[i, k] * w[j, k] * s[j]; }
model tc_gathered { input ids : i32[50] in 0..90; param t : f16[90, 64]; param w : f16[48, 64]; output y[i, j] = sum(k) t[ids[i], k] * w[j, k]; }
model tc_triangle { input a : f16[64, 64]; input b : f16[64, 48]; output y[i, j] = sum(k) (k <= i ? a[i, k] : 0) * b[k, j]; }
model tc_shifted { input a : f16[40, 64]; param w : f16[32, 64]; output y[i in 0..40, j] = sum(k) (a[i - 3, k] or 0) * w[j, k]; }
model tc_reversed { input a : f16[40, 64]; param w : f16[32, 64]; output y[i in 0..40, j] = sum(k) a[39 - i, k] * w[j, k]; }
model tc_strided_rows { input a : f16[80, 64]; param w : f16[32, 64]; output y[i in 0..40, j] = sum(k) a[2 * i, k] * w[j, k]; }
model tc_out_transposed { input a : f16[72, 64]; input b : f16[64, 40]; output y[j, i] = sum(k) a[i, k] * b[k, j]; }
model tc_split_out { input a : f16[24, 64]; param w : f16[96, 64]; output y[h in 0..3, i, d in 0..32] = sum(k) a[i, k] * w[h * 32 + d, k]; }
model tc_merge_heads { input o : f16[3, 24, 32]; param w : f16[40, 96]; output y[i, j] = sum(h in 0..3, d in 0..32) o[h, i, d] * w[j, h * 32 + d]; }
model tc_concat_k { input a : f16[24, 40]; input b : f16[24, 24]; param w : f16[32, 64]; output y = linear(concat(a, b, axis = 1), w); }
model tc_concat_out { input a : f16[24, 32]; param w : f16[16, 32]; output y = concat(linear(a, w), a, axis = 1); }
model tc_mean { input a : f16[16, 64]; input b : f16[16, 64]; output y[i, j] = mean(k) a[i, k] * b[j, k]; }
model tc_f32_out { input x : bf16[56, 64]; param w : bf16[48, 64]; param b : f32[48]; output y[i, j] : f32 = sum(k) x[i, k] * w[j, k] + b[j]; }
model tc_bf16_deep { input x : bf16[40, 1032]; param w : bf16[24, 1032]; output y = linear(x, w); }
model tc_very_deep { input x : f16[24, 4104]; param w : f16[40, 4104]; output y = linear(x, w); }
model tc_deep_f32_out { input x : f16[72, 2312]; param w : f16[48, 2312]; output y[i, j] : f32 = sum(k) x[i, k] * w[j, k]; }
model tc_deep_matmul { input x : bf16[40, 1544]; input z : bf16[1544, 56]; output y = matmul(x, z); }
model tc_deep_i8 { input a : i8[24, 2080]; param w : i8[40, 2080]; output y[i, j] = sum(k) a[i, k] * w[j, k]; }
model tc_deep_f32 { input x : f32[40, 1100]; param w : f32[40, 1100]; output y = linear(x, w); }
model tc_deep_conv { input x : f16[1, 160, 6, 6]; param w : f16[32, 160, 3, 3]; output y = conv2d(x, w, pad = 1); }
model tc_one_row { input x : f16[1, 512]; param w : f16[264, 512]; param b : f16[264]; output y = relu(linear(x, w, b)); }
model tc_few_rows { input x : f16[5, 320]; param w : f16[136, 320]; output y = linear(x, w); }
model tc_few_columns { input x : f16[200, 64]; param w : f16[3, 64]; output y = linear(x, w); }
model tc_k_small { input x : f16[64, 8]; param w : f16[48, 8]; output y = linear(x, w); }
model tc_batched_prime { input a : f16[5, 37, 48]; input b : f16[5, 48, 29]; output y = matmul(a, b); }
model tc_batch_shared { input a : f16[4, 33, 40]; input b : f16[40, 24]; output y[n, i, j] = sum(k) a[n, i, k] * b[k, j]; }
model tc_i8 { input a : i8[48, 96]; param w : i8[40, 96]; output y[i, j] = sum(k) a[i, k] * w[j, k]; }
model tc_i8_ragged { input a : i8[33, 80]; param w : i8[17, 80]; output y[i, j] = sum(k) a[i, k] * w[j, k]; }
model tc_i8_quantised {
  input a : i8[32, 128];
  param w : i8[48, 128];
  param s : f32[48];
  output y[i, j] = i8(rint(s[j] * 0.001 * sum(k) a[i, k] * w[j, k]));
}
model tc_f32_aligned { input a : f32[96, 128]; input b : f32[128, 64]; output y = matmul(a, b); }
model tc_f32_linear { input x : f32[40, 256]; param w : f32[72, 256]; param b : f32[72]; output y = relu(linear(x, w, b)); }
model tc_conv { input x : f16[1, 32, 14, 14]; param w : f16[48, 32, 3, 3]; param b : f16[48]; output y = relu(conv2d(x, w, b, pad = 1)); }
model tc_conv_stride { input x : f16[2, 16, 15, 13]; param w : f16[40, 16, 3, 3]; output y = conv2d(x, w, pad = 1, stride = 2); }
model tc_conv_1x1 { input x : f16[1, 64, 7, 7]; param w : f16[96, 64, 1, 1]; param b : f16[96]; output y = conv2d(x, w, b); }
model tc_conv_1x1_stride { input x : f16[1, 32, 14, 14]; param w : f16[64, 32, 1, 1]; output y = conv2d(x, w, stride = 2); }
model tc_conv_5x5 { input x : bf16[1, 8, 11, 11]; param w : bf16[16, 8, 5, 5]; output y = conv2d(x, w, pad = 2); }
model tc_conv_grouped { input x : f16[1, 32, 8, 8]; param w : f16[32, 16, 3, 3]; output y = conv2d(x, w, pad = 1, groups = 2); }
model tc_conv_dilated { input x : f16[1, 16, 12, 12]; param w : f16[24, 16, 3, 3]; output y = conv2d(x, w, pad = 2, dilation = 2); }
model tc_conv_rgb { input x : f16[1, 3, 20, 20]; param w : f16[16, 3, 7, 7]; output y = conv2d(x, w, pad = 3, stride = 2); }
model tc_conv_transposed { input x : f16[1, 16, 6, 6]; param w : f16[16, 24, 4, 4]; output y = conv_transpose2d(x, w, stride = 2, pad = 1); }
model tc_conv_1d { input x : f16[2, 24, 40]; param w : f16[32, 24, 3]; output y = conv1d(x, w, pad = 1); }
model tc_conv_norm {
  input x : f16[1, 16, 10, 10];
  param w : f16[32, 16, 3, 3];
  param g : f16[32];
  param b : f16[32];
  param m : f16[32];
  param v : f16[32];
  output y = relu(batch_norm(conv2d(x, w, pad = 1), g, b, m, v));
}
model tc_conv_pool { input x : f16[1, 16, 12, 12]; param w : f16[32, 16, 3, 3]; output y = max_pool(relu(conv2d(x, w, pad = 1)), kernel = 2); }
model tc_conv_chain {
  input x : f16[1, 16, 9, 9];
  param w1 : f16[24, 16, 3, 3];
  param w2 : f16[32, 24, 1, 1];
  output y = conv2d(relu(conv2d(x, w1, pad = 1)), w2);
}
model tc_attention { input q : f16[2, 3, 40, 32]; input k : f16[2, 3, 56, 32]; input v : f16[2, 3, 56, 32]; output y = attention(q, k, v); }
model tc_attention_causal { input q : f16[1, 2, 65, 64]; input k : f16[1, 2, 65, 64]; input v : f16[1, 2, 65, 64]; output y = attention(q, k, v, causal = true); }
model tc_mlp {
  input x : f16[40, 64];
  param w1 : f16[128, 64];
  param b1 : f16[128];
  param w2 : f16[64, 128];
  param b2 : f16[64];
  output y = x + linear(gelu(linear(x, w1, b1)), w2, b2);
}
model tc_gated {
  input x : f16[24, 64];
  param wg : f16[96, 64];
  param wu : f16[96, 64];
  param wd : f16[64, 96];
  output y = linear(silu(linear(x, wg)) * linear(x, wu), wd);
}
