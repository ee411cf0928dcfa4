// Weights large enough to be asked for before the wait for the grid: along k and
// along n, and rows that several blocks share.
model weights_ahead {
  input x : f16[1, 1000];
  input v : f16[2, 65536];
  param w : f16[300, 1000];
  param u : f16[1000, 304];
  param l : f16[2, 65536];
  param b : f32[300];
  h = relu(linear(x, w));
  g[m, n] = sum(k) x[m, k] * u[k, n];
  output y[n in 0..300] = h[0, n] + g[0, n + 2] + b[n];
  output z = softmax(h);
  output t[i] = sum(k) v[i, k] * l[i, k];
}
