// Inputs that TMA or a thread's vector reads as they are, outputs that it
// stores, also for each image; a chain of two products; a size of which a dimension is a multiple.
model net {
  dim B in {2, 6};
  input x : f16[B, 16, 128];
  input r : f16[B, 16, 256];
  input i : f16[B, 14, 14, 64];
  input q : f16[B, 2, 64, 64];
  input len : i32[B] in 1..65;
  input g : f32[3 * B];
  param w : f16[256, 128];
  param b : f16[256];
  param c : f16[64, 3, 3, 64];
  input u : f16[B, 32, 256];
  param l : f16[64, 32];
  output y[n, s, k] = (sum(j) x[n, s, j] * w[k, j]) + b[k] + r[n, s, k];
  output z[n in 0..B, p in 0..14, t in 0..14, k] =
    sum(u, v, d) (i[n, p + u - 1, t + v - 1, d] or 0) * c[k, u, v, d];
  s[n, h, j, k] : f32 = k < len[n] ? (sum(d) q[n, h, j, d] * q[n, h, k, d]) / 8.0 : -inf;
  a : f16 = softmax(s);
  output o[n, h, j, d] = sum(k) a[n, h, j, k] * q[n, h, k, d];
  output d[n, k, p] = relu(sum(v) u[n, v, p] * l[k, v]);
  output e = g * 2 + exp(g);
  output f[n in 0..B, k in 0..3] = g[n * 3 + k] + 1;
  output m[n] = argmax(k) x[n, 3, k];
}
