// Convolutions whose groups are one channel, and their gradients: windows that
// go on and back.

// the data's: windows that go back, of sizes that no tile divides
model dw_data {
  input d : f16[2, 9, 13, 40];  input w : f16[40, 1, 3, 5];  input b : f16[40];
  output g[n, p in 0..9, q in 0..13, c] : f16 = relu(b[c] + sum(r, s)
      (d[n, p - r + 1, q - s + 2, c] or 0) * w[c, 0, r, s]);
}
model dw_back1 {                 // in one dimension; maxima; a window for each
  input x : f32[3, 21, 16];
  output y[n, p in 0..18, c] = max(r in 0..4) x[n, p - r + 3, c];
  output z[n, p in 0..21, c] = argmax(r in 0..3) (x[n, p - r, c] or -1e9);
  output s[n, p in 0..18, c] = sum(r in 0..4) x[n, p - r + 3, c] * x[n, p + r, c];
}
