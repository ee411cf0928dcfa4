// What is computed once although it stands there twice.
model nu_product {
  input x : f16[24, 64];
  param a : f16[40, 64];
  output y[i, j] = relu(sum(k) x[i, k] * a[j, k]) * relu(sum(k) a[j, k] * x[i, k]);
}
model nu_outputs {
  input x : f32[9, 33];
  h = softmax(x) * 2;
  output p = softmax(x);
  output q = softmax(x);
  output m[i] = max(j) x[i, j];
  output n[i] = max(j) x[i, j] + h[i, 0];
  output k[i] = max(j) x[i, j];
}
model nu_gates {
  input x : f16[16, 64];
  param a : f16[48, 64];
  param b : f16[64, 64];
  param c : f16[64, 48];
  t = x * 2 + 1;
  u = linear(silu(t), a);
  v = linear(silu(t), b) * silu(t);
  output y = linear(u, c) + v + silu(t);
}
model nu_state {
  input x : f32[8, 32];
  state n : f32[8, 32] = 1;
  a[i] = sum(j) n[i, j];
  b[i] = sum(j) n[i, j] * 2;
  n[i, j] = n[i, j] * 0.5 + x[i, j];
  c[i] = sum(j) n[i, j];
  d[i] = sum(j) n[i, j] * 2;
  output y[i] = a[i] - c[i];
  output z[i] = b[i] * d[i];
}
model nu_gather {
  input ids : i32[6] in 0..20;
  param t : f32[20, 16];
  a = embedding(ids + 0, t);
  b = embedding(ids + 0, t);
  output y = softmax(a) + b;
  output z[i] = a[i, ids[i] / 2] - b[i, ids[i] / 2] or 0;
}
