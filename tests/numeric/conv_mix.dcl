// Convolutions and views between everything; extents of one.
model cn_group { input x : f16[2, 12, 6, 6]; param w : f16[24, 4, 3, 3]; param b : f16[24]; output y = relu(conv2d(x, w, b, pad = 1, groups = 3)); }
model cn_group_f32 { input x : f32[1, 6, 5, 5]; param w : f32[4, 3, 3, 3]; output y = conv2d(x, w, pad = 1, groups = 2) + 1; }
model cn_depth { input x : f16[1, 16, 7, 7]; param w : f16[16, 1, 3, 3]; param p : f16[8, 16, 1, 1]; output y = conv2d(relu(conv2d(x, w, pad = 1, groups = 16)), p); }
model cn_transposed { input x : f32[1, 6, 4, 4]; param w : f32[6, 5, 3, 3]; output y = relu(conv_transpose2d(x, w, stride = 2, pad = 1, extra = 1)); }
model cn_transposed_f16 { input x : f16[1, 16, 5, 5]; param w : f16[16, 8, 4, 4]; param b : f16[8]; h = conv_transpose2d(x, w, b, stride = 2, pad = 1); output y = relu(h); }
model cn_strided { input x : f16[1, 8, 9, 9]; param w : f16[16, 8, 3, 3]; param d : f16[16, 8, 1, 1]; output y = relu(conv2d(x, w, stride = 2, pad = 1) + conv2d(x, d, stride = 2)); }
model cn_dilated { input x : f16[1, 8, 9, 9]; param w : f16[8, 8, 3, 3]; output y = conv2d(x, w, pad = 2, dilation = 2); }
model cn_conv1d { input x : f16[2, 8, 20]; param w : f16[8, 8, 5]; param b : f16[8]; output y = gelu(conv1d(x, w, b, pad = 2, stride = 3)); }
model cn_conv3d { input x : f32[1, 3, 4, 5, 6]; param w : f32[4, 3, 2, 3, 3]; output y = conv3d(x, w, pad = 1); }
model cn_batchnorm_residual { input x : f16[2, 16, 6, 6]; param w : f16[16, 16, 3, 3]; param g : f16[16]; param b : f16[16]; param m : f16[16]; param v : f16[16];
  h = batch_norm(conv2d(x, w, pad = 1), g, b, m, v); output y = relu(h + x); output z = max_pool(h, kernel = 2); }
model cn_pool_both { input x : f16[1, 8, 8, 8]; param w : f16[8, 8, 3, 3]; h = relu(conv2d(x, w, pad = 1)); output a = max_pool(h, kernel = 2); output b = avg_pool(h, kernel = 2); output c = global_avg_pool(h); }
model cn_squeeze_excite { input x : f16[2, 16, 5, 5]; param w1 : f16[4, 16]; param w2 : f16[16, 4];
  s = sigmoid(linear(relu(linear(global_avg_pool(x), w1)), w2)); output y[n, c, h, w] = x[n, c, h, w] * s[n, c]; }
model cn_flatten_linear { input x : f16[2, 8, 4, 4]; param w : f16[8, 8, 3, 3]; param f : f16[10, 128]; h = relu(conv2d(x, w, pad = 1)); output y = linear(reshape(h, shape = [2, -1]), f); }
model cn_patches { input x : f16[1, 3, 12, 12]; param w : f16[16, 3, 4, 4]; param c : f16[16]; param p : f16[10, 16];
  h = conv2d(x, w, stride = 4); t = transpose(reshape(h, shape = [1, 16, 9]), perm = [0, 2, 1]);
  e[b, i in 0..10, d] = (i == 0 ? c[d] : t[b, i - 1, d] or 0) + p[i, d]; output y = layer_norm(e); }
model cn_patches_concat { input x : f16[1, 3, 12, 12]; param w : f16[16, 3, 4, 4]; param c : f16[1, 1, 16]; param p : f16[10, 16];
  h = conv2d(x, w, stride = 4); t = transpose(reshape(h, shape = [1, 16, 9]), perm = [0, 2, 1]);
  e = concat(c, t, axis = 1) + p; output y = layer_norm(e); }
model cn_shuffle { input x : f16[1, 12, 5, 5]; param w : f16[12, 4, 1, 1]; h = conv2d(x, w, groups = 3); s = reshape(transpose(reshape(h, shape = [1, 3, 4, 5, 5]), perm = [0, 2, 1, 3, 4]), shape = [1, 12, 5, 5]); output y = conv2d(relu(s), w, groups = 3); }
model cn_densenet { input x : f16[1, 8, 6, 6]; param w1 : f16[4, 8, 3, 3]; param w2 : f16[4, 12, 3, 3]; a = relu(conv2d(x, w1, pad = 1)); c = concat(x, a, axis = 1); b = relu(conv2d(c, w2, pad = 1)); output y = concat(c, b, axis = 1); }
model cn_unet { input x : f16[1, 8, 8, 8]; param w1 : f16[8, 8, 3, 3]; param w2 : f16[8, 16, 3, 3]; d = max_pool(relu(conv2d(x, w1, pad = 1)), kernel = 2); u = upsample(d); output y = conv2d(concat(u, x, axis = 1), w2, pad = 1); }
model cn_bilinear { input x : f32[1, 2, 4, 5]; param w : f32[2, 2, 1, 1]; output y = conv2d(upsample(relu(x), mode = "bilinear"), w); }
model cn_groupnorm { input x : f16[2, 8, 5, 5]; param w : f16[8, 8, 3, 3]; param g : f16[8]; param b : f16[8]; output y = silu(group_norm(conv2d(x, w, pad = 1), g, b, groups = 2)); }
model cn_instancenorm { input x : f16[2, 4, 5, 5]; param w : f16[4, 4, 3, 3]; output y = relu(instance_norm(conv2d(x, w, pad = 1))) + x; }
model cn_pixel_shuffle { input x : f16[1, 8, 4, 4]; param w : f16[16, 8, 3, 3]; h = conv2d(x, w, pad = 1); output y[n, c in 0..4, i in 0..8, j in 0..8] = h[n, c * 4 + i % 2 * 2 + j % 2, i / 2, j / 2]; }
model cn_ones { input x : f16[1, 1, 1, 1]; param w : f16[1, 1, 1, 1]; param v : f16[1, 1, 3, 3]; output y = conv2d(relu(conv2d(x, w)), v, pad = 1); }
model cn_one_channel { input x : f16[1, 1, 9, 9]; param w : f16[8, 1, 3, 3]; param v : f16[1, 8, 3, 3]; output y = conv2d(relu(conv2d(x, w)), v); }
model cn_dim_ones { input x : f32[1, 7, 1]; param w : f32[1, 1]; param g : f32[1]; output y = layer_norm(linear(x, w), g); output z = softmax(x, axis = 0); output m[i, j] = max(k) x[i, j, k]; }
model cn_batch1 { input a : f16[1, 16, 1]; input b : f16[1, 1, 16]; output y = matmul(a, b); output z = matmul(b, a); }
model cn_pad_conv { input x : f16[1, 8, 6, 6]; param w : f16[8, 8, 3, 3]; p = pad(pad(x, axis = 2, before = 1, after = 1), axis = 3, before = 1, after = 1); output y = conv2d(p, w); }
model cn_reflect { input x : f32[1, 4, 6, 6]; param w : f32[4, 4, 3, 3]; p[n, c, i in 0..8, j in 0..8] = x[n, c, min(max(i - 1, 0), 5), min(max(j - 1, 0), 5)]; output y = conv2d(p, w); }
model cn_two_heads { input x : f16[1, 8, 6, 6]; param w : f16[16, 8, 3, 3]; h = conv2d(x, w, pad = 1); a = split(h, parts = 2, part = 0, axis = 1); b = split(h, parts = 2, part = 1, axis = 1); output y = a * sigmoid(b); }
model cn_slice_of_conv { input x : f16[1, 8, 6, 6]; param w : f16[16, 8, 3, 3]; h = relu(conv2d(x, w, pad = 1)); output y = slice(h, axis = 1, first = 3, last = 9); output z[n, i, j] = h[n, 2, i, j] + h[n, 5, j, i]; }
