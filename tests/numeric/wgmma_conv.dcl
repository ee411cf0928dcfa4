// Convolutions whose output pixels are patches of a TMA box; channels last.
op conv(x: T[N, H, W, C], w: T[K, C, R, S]; stride = 1, pad = 0, dilation = 1) -> y {
  y = transpose(conv2d(transpose(x, perm = [0, 3, 1, 2]), w, stride = stride, pad = pad, dilation = dilation), perm = [0, 2, 3, 1]);
}
model wc_3x3 { input x : f16[2, 14, 14, 64]; param w : f16[48, 64, 3, 3]; param b : f16[48]; output y = relu(conv(x, w, pad = 1) + b); }
model wc_3x3_valid { input x : bf16[1, 13, 18, 64]; param w : bf16[32, 64, 3, 3]; output y = conv(x, w); }
model wc_3x3_stride { input x : f16[3, 15, 15, 32]; param w : f16[40, 32, 3, 3]; output y = conv(x, w, stride = 2, pad = 1); }
model wc_dilated { input x : f16[1, 12, 12, 72]; param w : f16[32, 72, 3, 3]; output y = conv(x, w, pad = 2, dilation = 2); }
model wc_1x1 { input x : f16[2, 7, 9, 64]; param w : f16[72, 64, 1, 1]; output y = conv(x, w); }
model wc_1x1_stride { input x : f16[2, 9, 9, 64]; param w : f16[40, 64, 1, 1]; output y = conv(x, w, stride = 2); }
model wc_7x7 { input x : f16[6, 7, 7, 128]; input r : f16[6, 7, 7, 64]; param w : f16[64, 128, 3, 3]; output y = relu(conv(x, w, pad = 1) + r); }
model wc_1d { input x : f16[2, 70, 64]; param w : f16[32, 64, 5]; output y = transpose(conv1d(transpose(x, perm = [0, 2, 1]), w, stride = 2, pad = 2), perm = [0, 2, 1]); }
model wc_3d { input x : f16[1, 6, 7, 8, 32]; param w : f16[32, 32, 2, 3, 3]; output y = transpose(conv3d(transpose(x, perm = [0, 4, 1, 2, 3]), w, pad = 1), perm = [0, 2, 3, 4, 1]); }
