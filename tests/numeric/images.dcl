// Rows of a factor side by side in memory, images beyond the sum: a product for
// each image, whichever side they are of.
model im_pixels { input x : f16[3, 40, 264]; param w : f16[48, 40]; param b : f16[48]; output y[n, k, p] = relu(sum(c) x[n, c, p] * w[k, c] + b[k]); }
model im_channels { input x : bf16[3, 24, 272]; param w : bf16[72, 24]; output y[n, p, k] = sum(c) x[n, c, p] * w[k, c]; }
model im_added { input x : f16[2, 3, 32, 256]; param w : f16[40, 32]; input r : f16[2, 3, 40, 256]; output y[n, g, k, p] = (sum(c) x[n, g, c, p] * w[k, c]) + r[n, g, k, p]; output z = y + 1; }
model im_grouped { input x : f16[2, 3, 32, 256]; param w : f16[3, 40, 32]; output y[n, g, k, p] = sum(c) x[n, g, c, p] * w[g, k, c]; }
model im_both { input x : f16[2, 32, 256]; input z : f16[3, 32, 264]; output y[n, m, p, q] : f32 = sum(c) x[n, c, p] * z[m, c, q]; }
model im_conv { input x : f16[2, 32, 16, 24]; param w : f16[48, 32, 1, 1]; param b : f16[48]; output y = conv2d(x, w, b); }
model im_transposed { input x : f16[2, 24, 16, 16]; param w : f16[24, 16, 2, 2]; output y = conv_transpose2d(x, w, stride = 2); }
model im_swapped { input x : f16[3, 40, 264]; param w : f16[48, 40]; output y[p, n, k] : f32 = sum(c) x[n, c, p] * w[k, c]; }
model im_weights { input x : f16[3, 256, 24]; input t : f16[3, 40, 24]; output y[k, p] : f32 = sum(n, c) x[n, p, c] * t[n, k, c]; }
model im_again { input x : f16[3, 40, 256]; param w : f16[48, 40]; param u : f16[48, 40]; output y[n, k, p] = silu(sum(c) x[n, c, p] * w[k, c]) * sum(c) x[n, c, p] * u[k, c]; }
