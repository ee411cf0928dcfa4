// Convolutions of few output channels over many pixels: each tap's product,
// then the sum of their shifts.
model sh_2 { type E = f16; input x : E[1, 32, 255, 262]; param w : E[3, 32, 3, 2]; param b : E[3];
  output y = relu(conv2d(x, w, b, pad = [1, 2], dilation = [2, 1])); }
// as channels lie fastest, without a pad
model sh_1 { type E = bf16; input x : E[2, 33000, 32];
  param w : E[2, 32, 9];
  output y[n, p in 0..32992, k] = sum(r, c) x[n, p + r, c] * w[k, c, r]; }
// more columns than eight, of fewer pixels
model sh_17 { type E = f16; input x : E[1, 192, 38, 41]; param w : E[17, 192, 3, 3]; param b : E[17];
  output y = conv2d(x, w, b, pad = 1); }
