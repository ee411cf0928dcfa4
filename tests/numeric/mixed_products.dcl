// Products of f32 factors with factors of 16 bits, on tensor cores as tf32: the
// f32 ones are two such numbers each.
model mp_linear { input x : f32[67, 100]; param w : f16[40, 100]; param b : f32[40]; output y[i, j] = relu(sum(k) x[i, k] * w[j, k] + b[j]); }
model mp_right { input x : bf16[65, 96]; input w : f32[96, 72]; output y[i, j] = sum(k) x[i, k] * w[k, j]; }
model mp_across { input a : f32[72, 64]; input b : f16[72, 40]; output y[i, j] : f16 = sum(k) a[k, i] * b[k, j]; }
model mp_both { input a : f16[33, 80]; input b : bf16[80, 48]; output y[i, j] = sum(k) a[i, k] * b[k, j]; }
model mp_context {
  input q : f16[2, 3, 37, 24];
  input k : f16[2, 3, 37, 24];
  input v : f16[2, 3, 37, 24];
  a[b, h, d, e] : f32 = sum(n) k[b, h, n, d] * v[b, h, n, e];
  output y[b, h, n, e] = sum(d) q[b, h, n, d] * a[b, h, d, e];
}
model mp_weights {
  input x : f16[2, 40, 67];
  s[b, i, j] : f32 = sum(p) x[b, i, p] * x[b, j, p];
  p = softmax(s);
  output y[b, i, c] = sum(j) p[b, i, j] * x[b, j, c];
}
model mp_large { input x : f32[48, 64]; input w : f16[40, 64]; output y[i, j] = sum(k) x[i, k] * 1e30 * w[j, k]; }
model mp_rows { input x : f16[70, 44]; input w : f32[30, 44]; output y[i, j] = sum(k) x[i, k] * w[j, k]; }
model mp_shifted { input x : f16[45, 64]; param w : f32[40, 64]; output y[i in 0..50, j] = sum(k) (x[i - 3, k] or 0) * w[j, k]; }
