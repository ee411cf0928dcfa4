// Convolutions of every kind, and pooling.
model conv_3x3 { input x : f32[1, 3, 9, 11]; param w : f32[5, 3, 3, 3]; param b : f32[5]; output y = conv2d(x, w, b, pad = 1); }
model conv_3x3_f16 { input x : f16[2, 8, 10, 10]; param w : f16[16, 8, 3, 3]; param b : f16[16]; output y = relu(conv2d(x, w, b, pad = 1)); }
model conv_3x3_bf16 { input x : bf16[1, 16, 7, 7]; param w : bf16[24, 16, 3, 3]; output y = conv2d(x, w, pad = 1); }
model conv_i8 { input x : i8[1, 4, 6, 6]; param w : i8[3, 4, 3, 3]; output y[n, k, p in 0..6, q in 0..6] = sum(c, r, s) (x[n, c, p + r - 1, q + s - 1] or 0) * w[k, c, r, s]; }
model conv_1x1 { input x : f16[2, 16, 7, 9]; param w : f16[24, 16, 1, 1]; output y = conv2d(x, w); }
model conv_1x1_stride { input x : f32[1, 6, 9, 9]; param w : f32[8, 6, 1, 1]; output y = conv2d(x, w, stride = 2); }
model conv_7x7_stride { input x : f32[1, 3, 17, 19]; param w : f32[8, 3, 7, 7]; output y = conv2d(x, w, stride = 2, pad = 3); }
model conv_stride_uneven { input x : f32[1, 2, 10, 13]; param w : f32[3, 2, 3, 2]; output y = conv2d(x, w, stride = [2, 3], pad = [0, 1]); }
model conv_dilated { input x : f32[1, 3, 12, 12]; param w : f32[4, 3, 3, 3]; output y = conv2d(x, w, pad = 2, dilation = 2); }
model conv_grouped { input x : f32[1, 6, 8, 8]; param w : f32[9, 2, 3, 3]; param b : f32[9]; output y = conv2d(x, w, b, pad = 1, groups = 3); }
model conv_depthwise { input x : f16[1, 10, 9, 9]; param w : f16[10, 1, 3, 3]; output y = conv2d(x, w, pad = 1, groups = 10); }
model conv_depthwise_s2 { input x : f32[1, 5, 9, 9]; param w : f32[5, 1, 5, 5]; output y = conv2d(x, w, pad = 2, stride = 2, groups = 5); }
model conv_1d { input x : f32[2, 5, 23]; param w : f32[7, 5, 4]; param b : f32[7]; output y = conv1d(x, w, b, stride = 2, pad = 3); }
model conv_3d { input x : f32[1, 2, 5, 6, 7]; param w : f32[3, 2, 2, 3, 3]; output y = conv3d(x, w, pad = 1); }
model conv_transposed { input x : f32[1, 4, 5, 6]; param w : f32[4, 3, 3, 3]; param b : f32[3]; output y = conv_transpose2d(x, w, b, stride = 2, pad = 1, extra = 1); }
model conv_transposed_grouped { input x : f32[1, 4, 4, 4]; param w : f32[4, 2, 2, 2]; output y = conv_transpose2d(x, w, stride = 2, groups = 2); }
model conv_transposed_dilated { input x : f32[1, 2, 5, 5]; param w : f32[2, 3, 3, 3]; output y = conv_transpose2d(x, w, dilation = 2, pad = 1); }
model conv_batch_norm {
  input x : f32[1, 4, 8, 8];
  param w : f32[6, 4, 3, 3];
  param g : f32[6];
  param b : f32[6];
  param m : f32[6];
  param v : f32[6];
  output y = relu(batch_norm(conv2d(x, w, pad = 1), g, b, m, v));
}
model conv_batch_norm_f16 {
  input x : f16[1, 8, 8, 8];
  param w : f16[16, 8, 3, 3];
  param g : f16[16];
  param b : f16[16];
  param m : f16[16];
  param v : f16[16];
  output y = relu(batch_norm(conv2d(x, w, pad = 1), g, b, m, v));
}
model conv_residual {
  input x : f16[1, 8, 6, 6];
  param w1 : f16[8, 8, 3, 3];
  param w2 : f16[8, 8, 3, 3];
  h = relu(conv2d(x, w1, pad = 1));
  output y = relu(conv2d(h, w2, pad = 1) + x);
}
model conv_gradient {
  input dy : f32[1, 4, 5, 6];
  param w : f32[4, 3, 3, 3];
  output dx[n, c, h in 0..9, v in 0..11] = sum(k, r, s)
      ((h + 1 - r) % 2 == 0 && (v + 1 - s) % 2 == 0 ? dy[n, k, (h + 1 - r) / 2, (v + 1 - s) / 2] or 0 : 0) * w[k, c, r, s];
}
model conv_same_padding { input x : f32[1, 2, 5, 5]; param w : f32[3, 2, 4, 4];
  output y[n, k, p in 0..5, q in 0..5] = sum(c, r, s) (x[n, c, p + r - 1, q + s - 1] or 0.5) * w[k, c, r, s]; }
model pool_max { input x : f32[1, 3, 9, 10]; output y = max_pool(x, kernel = 3, stride = 2, pad = 1); }
model pool_max_f16 { input x : f16[2, 3, 8, 8]; output y = max_pool(x, kernel = 2); }
model pool_avg { input x : f32[1, 3, 9, 10]; output y = avg_pool(x, kernel = 3, stride = 2, pad = 1); }
model pool_avg_count { input x : f32[1, 3, 9, 10]; output y = avg_pool(x, kernel = 3, stride = 2, pad = 1, count_include_pad = false); }
model pool_global { input x : f16[2, 5, 7, 7]; output y = global_avg_pool(x); }
model upsample_nearest { input x : f32[1, 2, 4, 5]; output y = upsample(x, scale = 3); }
model upsample_bilinear { input x : f32[1, 2, 4, 5]; output y = upsample(x, scale = 2, mode = "bilinear"); }
model upsample_conv { input x : f32[1, 3, 5, 5]; param w : f32[4, 3, 3, 3]; output y = conv2d(upsample(x), w, pad = 1); }
