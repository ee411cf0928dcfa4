// Sums over the rows of products, which their kernels leave pieces of.

// a mean and the squares about it
model rs_moments {
  input x : f16[2048, 64];
  param w : f16[512, 64];
  y[i, j] : f16 = sum(k) x[i, k] * w[j, k];
  m[j] : f32 = mean(i) y[i, j];
  v[j] : f32 = mean(i) (y[i, j] - m[j]) * (y[i, j] - m[j]);
  output z[i, j] = (y[i, j] - m[j]) * rsqrt(v[j] + 1e-5);
}

// of a window, in pieces of 32 rows, the last tile of which is not full
model rs_window {
  input x : f16[32, 7, 7, 64];
  param w : f16[352, 64, 3, 3];
  y[n, c, p in 0..7, q in 0..7] : f16 = sum(k, r, s) (x[n, p + r - 1, q + s - 1, k] or 0) * w[c, k, r, s];
  m[c] : f32 = mean(n, p, q) y[n, c, p, q];
  v[c] : f32 = mean(n, p, q) (y[n, c, p, q] - m[c]) * (y[n, c, p, q] - m[c]);
  output z[n, p, q, c] = (y[n, c, p, q] - m[c]) * rsqrt(v[c] + 1e-5);
}

// of what becomes of results, and its products with another tensor's points
model rs_gradients {
  input x : f16[1056, 40];
  input h : f16[1056, 512];
  input y : f16[1056, 512];
  input m : f32[512];
  param w : f16[512, 40];
  d[i, j] : f16 = h[i, j] > 0 ? (sum(k) x[i, k] * w[j, k]) : 0;
  output g[j] : f32 = sum(i) d[i, j] * (y[i, j] - m[j]);
  output b[j] : f32 = sum(i) f32(d[i, j]);
  output e[i, j] : f16 = d[i, j] * m[j];
}

// a layer norm's factors' gradients, with values of rows, in pieces of rows
model rs_layer_norm {
  input x : f16[4, 1024, 32]; input t : f16[4, 1024, 128];
  param w : f16[128, 32]; param g : f16[128]; param b : f16[128]; param u : f16[128, 128];
  input rate : f32;
  h = linear(x, w);
  y = h + linear(layer_norm(h, g, b), u);
  l[] : f32 = mean(n, i, k) f32(y[n, i, k]) * t[n, i, k];
  output loss = l;
  for v in params { v = v - rate * grad(l, v); }
}
