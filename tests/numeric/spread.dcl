// A reader that makes several points of each of its producer's: they are
// stored beside each other by the kernel that makes it.

// the data gradient of a 1x1 convolution of stride 2: three points of four are 0
model spread_zeros {
  input d : f16[2, 5, 6, 64];  param w : f16[64, 1, 1, 40];
  output g[n, h in 0..10, q in 0..12, c] = sum(k, r, s)
      ((h - r) % 2 == 0 && (q - s) % 2 == 0
          ? d[n, (h - r) / 2, (q - s) / 2, k] or 0 : 0) * w[k, r, s, c];
}
// of odd sizes, and of a stride of 3 that begins with rows of zeros
model spread_odd {
  input d : f16[2, 6, 4, 64];  param w : f16[64, 40];
  output g[n, h in 0..11, q in 0..10, c] = sum(k)
      (h % 2 == 0 && (q + 1) % 3 == 0
          ? d[n, h / 2, (q + 1) / 3, k] or 0 : 0) * w[k, c];
}
// an image doubled in size, and added to
model spread_up {
  input x : f16[1, 16, 5, 7];  param w : f16[24, 16, 1, 1];
  input r : f16[1, 24, 10, 14];
  output y = upsample(relu(conv2d(x, w)), scale = 2) + r;
}
// along one dimension; what is between is there, too
model spread_rows {
  input x : f32[6, 33];  param w : f32[9, 33];
  output h = linear(x, w);
  output y[i in 0..17, j] = h[i / 3, j] * (i + 1);
}
// of a nest that reduces rows
model spread_norm {
  input x : f16[6, 40];  param g : f16[40];  param b : f16[40];
  y = layer_norm(x, g, b);
  output z[i in 0..12, j] = i % 2 == 0 ? y[i / 2, j] : -1;
}
// a row that is stored several times, as states are
model spread_state {
  input x : f32[4, 24];  param w : f32[8, 24];
  state s : f32[8, 8];
  h = linear(x, w);
  s[i, j] = s[i, j] * 0.5 + h[i / 2, j];
  output y = s + 1;
}
