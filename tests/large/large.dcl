// Rows, terms and tensors of more elements than an int counts, and nearly so.
model big_sum { input x : f16[4, 65536, 65536]; output y[i] = sum(j, k) x[i, j, k]; }
model big_sum1 { input x : f16[65536, 65536]; output y[] = sum(j, k) x[j, k]; }
model big_max { input x : f16[65536, 50000]; output y[] = max(j, k) x[j, k]; output z[i] = sum(j) x[j, i]; }
model big_dot { input x : f16[2, 65536, 65536]; input w : f16[65536, 65536]; output y[i] = sum(j, k) x[i, j, k] * w[j, k]; }
model big_rows { input x : i8[65536, 65536, 2]; output y[i, j] = sum(k) x[i, j, k]; }
model big_map { input x : i8[2, 65536, 65536]; output y[k in 0..2, j, i] = i8(x[1 - k, j, i] + 1); }
model big_turn { input x : i8[65536, 65536, 2]; output y[k, j, i] = i8(x[i, j, k] + 1); }
model big_norm { input x : f16[65536, 65536, 4]; output y = softmax(x); }
model big_edge { input x : i8[2147483647]; output y[] = sum(i) x[i]; output z[i] = i8(x[i] * 2); }
model big_edge2 { input x : i8[3, 2147483640]; output y[i] = sum(j) x[i, j]; output z[j] = max(i) x[i, j]; }
model big_conv { input x : f16[64, 3, 8192, 8192]; param w : f16[64, 3, 3, 3]; output y = conv2d(x, w, pad = 1, stride = 2); }
model big_pool { input x : f16[128, 64, 1024, 1024]; output y = max_pool(x, kernel = 3, stride = 2, pad = 1); }
model big_linear { input x : f16[8388608, 512]; param w : f16[1024, 512]; output y = linear(x, w); }
model big_few { input x : f16[1, 1073741825]; param w : f16[4, 1073741825]; output y = linear(x, w); }
model big_transpose { input x : f32[100000, 50000]; output y[j, i] = x[i, j] * 2; }
