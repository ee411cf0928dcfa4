// Products of few and many rows, f32 and bf16, a weight that is packed or not.
model net {
  dim R in {3, 16, 70};
  input x : bf16[R, 96];
  input c : f32[2 * R, 40];
  param w : bf16[96, 72];
  param u : f32[40, 24];
  h[i, j] = gelu(sum(k) x[i, k] * w[k, j]);
  output y = softmax(h);
  output z[i, j] = sum(k) c[i, k] * u[k, j];
}
