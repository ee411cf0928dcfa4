// Convolution, pooling, a head; TMA maps over images.
model net {
  dim N in {2, 5};
  input x : f16[N, 8, 9, 9];
  param w : f16[64, 8, 3, 3];
  param g : f16[64];
  param v : f16[64, 64, 1, 1];
  param f : f16[10, 64];
  h = relu(conv2d(x, w, pad = 1, stride = 2));
  r = relu(conv2d(h, v)) + h;
  p = max_pool(r, kernel = 2);
  m[n, c] : f32 = mean(i, j) r[n, c, i, j];
  output y[n, k] = sum(c) m[n, c] * g[c] * f[k, c];
  output z = p;
}
