// A transposed convolution's weights: of the pixels of the result a tap has
// those of its phase, and their congruence is gone.
model transposed_weights {
  input x : f16[2, 16, 9];
  input r : f16[2, 18, 8];
  output w[c, k, t in 0..4] = sum(n, p) ((p + 1 - t) % 2 == 0
      ? r[n, p, k] * (x[n, c, (p + 1 - t) / 2] or 0) : 0);
}
