// A few rows against many weights: both orders of the weights, every type,
// ragged sizes, prologues and epilogues.
model sk_one { input x : f16[1, 512]; param w : f16[264, 512]; param b : f16[264]; output y = relu(linear(x, w, b)); }
model sk_one_deep { input x : f16[1, 4096]; param w : f16[96, 4096]; output y = linear(x, w); }
model sk_rows { input x : f16[13, 320]; param w : f16[136, 320]; param b : f16[136]; input r : f16[13, 136]; output y = gelu(linear(x, w, b)) + r; }
model sk_more_rows { input x : f16[29, 160]; param w : f16[152, 160]; output y = linear(x, w); }
model sk_prime { input x : f16[3, 131]; param w : f16[101, 131]; output y = linear(x, w); }
model sk_half_aligned { input x : f16[2, 340]; param w : f16[77, 340]; output y = linear(x, w); }
model sk_bf16 { input x : bf16[5, 1032]; param w : bf16[72, 1032]; output y = linear(x, w); }
model sk_f32 { input x : f32[4, 520]; param w : f32[100, 520]; param b : f32[100]; output y = relu(linear(x, w, b)); }
model sk_f32_prime { input x : f32[2, 257]; param w : f32[67, 257]; output y = linear(x, w); }
model sk_mixed { input x : f32[3, 256]; param w : f16[64, 256]; output y[i, j] : f32 = sum(k) x[i, k] * w[j, k]; }
model sk_n_one { input x : f16[1, 768]; param w : f16[768, 96]; param b : f16[96]; output y[i, j] = tanh(b[j] + sum(k) x[i, k] * w[k, j]); }
model sk_n_rows { input x : f16[9, 272]; param w : f16[272, 200]; output y = matmul(x, w); }
model sk_n_rows_input { input x : f16[9, 272]; input w : f16[272, 200]; output y = matmul(x, w); }
model sk_n_ragged { input x : f16[2, 131]; input w : f16[131, 83]; output y = matmul(x, w); }
model sk_n_even { input x : bf16[2, 132]; input w : bf16[132, 90]; output y = matmul(x, w); }
model sk_n_f32 { input x : f32[3, 200]; param w : f32[200, 100]; output y = matmul(x, w); }
model sk_n_f32_prime { input x : f32[1, 199]; param w : f32[199, 97]; output y = matmul(x, w); }
model sk_scaled { input x : f16[4, 256]; param g : f16[256]; param w : f16[80, 256]; output y[i, j] = sum(k) x[i, k] * g[k] * w[j, k]; }
model sk_relu { input x : f16[4, 256]; param w : f16[80, 256]; output y[i, j] = sum(k) relu(x[i, k]) * w[j, k]; }
model sk_flat { input x : f16[2, 8, 3, 3]; param w : f16[64, 72]; output y[n, o] = sum(c, h, v) x[n, c, h, v] * w[o, c * 9 + h * 3 + v]; }
model sk_heads { input x : f16[1, 256]; param w : f16[192, 256]; output q[h in 0..3, d in 0..64] = sum(k) x[0, k] * w[h * 64 + d, k]; output n = linear(x, w) + 1; }
model sk_batch { input q : f16[6, 64]; state c : f16[6, 40, 64]; output s[h, t] = sum(d) q[h, d] * c[h, t, d]; }
model sk_batch_n { input p : f16[6, 40]; input v : f16[6, 40, 64]; output o[h, d] = sum(t) p[h, t] * v[h, t, d]; }
model sk_shifted { input x : f16[6, 128]; param w : f16[48, 128]; output y[i in 0..6, j] = sum(k) (x[i - 2, k] or 0) * w[j, k]; }
model sk_ring { input x : f16[16, 2112]; param w : f16[72, 2112]; param b : f16[72]; output y = gelu(linear(x, w, b)); }
model sk_ring_rows { input x : bf16[19, 1536]; param w : bf16[80, 1536]; output y = linear(x, w); }
model sk_ring_names { input r : f16[2, 1152]; param async : f16[64, 1152]; param u : f16[64]; output y[i, j] = sum(k) r[i, k] * async[j, k] + u[j]; }
model sk_ring_leaps { input x : f16[9, 8192]; param w : f16[40, 8192]; output y = linear(x, w); }
