// Windows over channels that lie side by side: depthwise convolution and
// pooling, whose threads share inputs along and down the image. Sizes are
// ragged on purpose: no tile divides them.
op dw(x: T[N, H, W, C], w: T[R, S, C], b: T[C] = 0; stride = 1, pad = 0)
    -> y: T[N, (H + 2 * pad - R) / stride + 1, (W + 2 * pad - S) / stride + 1, C] {
  y[n, p, q, c] = b[c] + sum(r, s) (x[n, p * stride + r - pad, q * stride + s - pad, c] or 0) * w[r, s, c];
}
model win_3x3 { input x : f16[2, 13, 11, 16]; param w : f16[3, 3, 16]; param b : f16[16]; output y = relu(dw(x, w, b, pad = 1)); }
model win_3x3_even { input x : f16[2, 16, 12, 8]; param w : f16[3, 3, 8]; output y = dw(x, w, pad = 1); }
model win_3x3_inside { input x : f16[1, 9, 10, 24]; param w : f16[3, 3, 24]; output y = dw(x, w); }
model win_stride { input x : f16[2, 14, 15, 16]; param w : f16[3, 3, 16]; param b : f16[16]; output y = relu6(dw(x, w, b, pad = 1, stride = 2)); }
model win_stride_bf16 { input x : bf16[1, 17, 18, 8]; param w : bf16[5, 5, 8]; output y = dw(x, w, pad = 2, stride = 2); }
model win_f32 { input x : f32[2, 7, 9, 8]; param w : f32[3, 3, 8]; param b : f32[8]; output y = dw(x, w, b, pad = 1); }
model win_5x5 { input x : f16[1, 11, 7, 8]; param w : f16[5, 5, 8]; output y = dw(x, w, pad = 2); }
model win_sevens { input x : f16[1, 10, 14, 8]; param w : f16[3, 3, 8]; param b : f16[8]; output y = relu(dw(x, w, b, pad = 1)); }
model win_sevens_stride { input x : f16[1, 9, 28, 8]; param w : f16[3, 3, 8]; output y = dw(x, w, pad = 1, stride = 2); }
model win_5x3 { input x : f32[1, 11, 13, 4]; param w : f32[5, 3, 4]; output y = dw(x, w, stride = 2); }
model win_residual { input x : f16[1, 10, 9, 16]; param w : f16[3, 3, 16]; param g : f16[16]; output y = dw(x, w, pad = 1) * g + x; }
model win_of_two { input x : f16[1, 9, 9, 8]; input z : f16[1, 9, 9, 8];
  output y[n, p in 0..9, q in 0..9, c] = sum(r in 0..3, s in 0..3) (x[n, p + r - 1, q + s - 1, c] or 0) * (z[n, p + r - 1, q + s - 1, c] or 1); }
model win_1d { input x : f16[2, 19, 16]; param w : f16[4, 16];
  output y[n, q in 0..19, c] = sum(s) (x[n, q + s - 3, c] or 0) * w[s, c]; }
model win_max { input x : f16[1, 15, 13, 8]; output y[n, p in 0..8, q in 0..7, c] = max(r in 0..3, s in 0..3) (x[n, 2 * p + r - 1, 2 * q + s - 1, c] or -inf); }
model win_max_f32 { input x : f32[1, 8, 9, 4]; output y[n, p in 0..8, q in 0..9, c] = max(r in 0..3, s in 0..3) (x[n, p + r - 1, q + s - 1, c] or -inf); }
model win_both { input x : f16[1, 8, 9, 8]; output y[n, p in 0..6, q in 0..7, c] = max(r in 0..3, s in 0..3) x[n, p + r, q + s, c] - sum(r in 0..3, s in 0..3) x[n, p + r, q + s, c]; }
model win_torch { input x : f16[1, 16, 9, 10]; param w : f16[16, 1, 3, 3]; param w2 : f16[16, 16, 1, 1]; h = relu(conv2d(x, w2)); h2 = relu6(conv2d(h, w, pad = 1, groups = 16)); output y = conv2d(h2, w2); }
model win_3d { input x : f16[1, 6, 7, 8, 8]; param w : f16[3, 3, 3, 8];
  output y[n, d in 0..6, p in 0..7, q in 0..8, c] = sum(e, r, s) (x[n, d + e - 1, p + r - 1, q + s - 1, c] or 0) * w[e, r, s, c]; }
model win_round { input x : f32[1, 11, 40, 96]; param w : f32[3, 3, 96]; param b : f32[96]; output y = relu(dw(x, w, b, pad = 1)); }
model win_round_stride { input x : f16[2, 22, 56, 96]; param w : f16[3, 3, 96]; output y = dw(x, w, pad = 1, stride = 2); }
model win_relu_bf16 { input x : bf16[1, 12, 14, 8]; param w : bf16[3, 3, 8]; param b : bf16[8]; output y = relu(dw(x, w, b, pad = 1)); }
model win_f32_bias { input x : f32[2, 32, 28, 128]; param w : f32[3, 1, 128]; param b : f32[128]; output y = dw(x, w, b, pad = 0); }
// room between the taps: sizes that neither tile nor dilation divides; maxima;
// with a stride; windows that go back, beside a residual
model win_dilated {
  input x : f16[2, 13, 15, 16];  input w : f16[3, 3, 16];  input b : f16[16];
  output y[n, p in 0..13, q in 0..15, c] : f16 = relu(b[c] + sum(r, s)
      (x[n, p + 2 * r - 2, q + 3 * s - 3, c] or 0) * w[r, s, c]);
}
model win_dilated_max {
  input x : f32[2, 16, 12, 8];
  output y[n, p in 0..12, q in 0..8, c] =
      max(r in 0..3, s in 0..3) x[n, p + 2 * r, q + 2 * s, c];
}
model win_dilated_stride {
  input x : f16[2, 23, 29, 8];  input w : f16[3, 3, 8];
  output y[n, p in 0..12, q in 0..15, c] : f32 = sum(r, s)
      (x[n, 2 * p + 3 * r - 3, 2 * q + 2 * s - 2, c] or 0) * w[r, s, c];
}
model win_dilated_back {
  input d : f16[2, 9, 12, 40];  input w : f16[40, 1, 3, 5];  input e : f16[2, 9, 12, 40];
  output g[n, p in 0..9, q in 0..12, c] : f16 = e[n, p, q, c] + sum(r, s)
      (d[n, p - 2 * r + 2, q - 2 * s + 4, c] or 0) * w[c, 0, r, s];
}
