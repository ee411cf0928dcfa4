// What is computed twice is computed once; what only looks alike stays apart.
model equal {
  input x : f16[8, 32];
  param a : f16[16, 32];
  output y[i, j] = relu(sum(k) x[i, k] * a[j, k]) * relu(sum(k) a[j, k] * x[i, k]);
  t = silu(x);
  output u = softmax(t);
  output v = softmax(silu(x)) + t;
  output w = softmax(t);
}
model apart {
  input x : f32[8, 32];
  state n : f32[8, 32];
  p[i] = sum(j) n[i, j];
  n[i, j] = n[i, j] + x[i, j];
  q[i] = sum(j) n[i, j];
  r[i] : f16 = sum(j) x[i, j];
  s[i] : f32 = sum(j) x[i, j];
  c[i] : f32 = sum(j) f32(f16(x[i, j]));
  @nofuse d[i] = max(j) x[i, j];
  e[i] = max(j) x[i, j];
  output y[i] = p[i] + q[i] + r[i] + s[i] + c[i] + d[i] - e[i];
}
