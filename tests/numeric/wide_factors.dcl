// Products of f32 factors with tensors of 16 bits, in parts that tensor cores
// take (parts.h): of known bounds two of f16, beside bf16 three of bf16, else two
// of tf32.
model wf_channels {
  input q : f16[2, 72, 100];
  input v : f16[2, 72, 136];
  s[b, i, j] : f32 = sum(n) q[b, i, n] * q[b, j, n] * 0.1;
  p = softmax(s);
  output o[b, i, n] = sum(j) p[b, i, j] * v[b, j, n];
}
model wf_masked {
  input s : f32[2, 70, 75];
  input v : f16[2, 75, 67];
  t[b, i, j] = j <= i ? s[b, i, j] : -inf;
  p = softmax(t);
  output o[b, n, i] : f16 = sum(j) p[b, i, j] * v[b, j, n];
}
model wf_first {
  input s : f32[66, 80];
  input v : f16[96, 80];
  p = softmax(s, axis = 0);
  output o[i, n] : f16 = sum(j) p[i, j] * v[n, j];
}
model wf_gates {
  input g : f16[72, 88];
  input h : f32[72];
  input v : f16[72, 80];
  output o[i, n] = sum(j) (2 * sigmoid(f32(g[j, i])) - tanh(h[j]) * 3) * v[j, n];
}
model wf_thirds {
  input a : f32[72, 67];
  input b : bf16[67, 80];
  input c : bf16[70, 67];
  output x[i, j] = sum(k) a[i, k] * b[k, j];
  output y[i, j] : bf16 = sum(k) a[i, k] * 1e30 * c[j, k];
}
model wf_three_bf16 {
  input a : bf16[72, 67];
  input c : bf16[67];
  input b : bf16[70, 67];
  output y[i, k] = sum(j) a[i, j] * b[k, j] * c[j];
}
model wf_across {
  input a : f32[65, 72];
  param b : bf16[65, 88];
  output x[j, i] = sum(k) a[k, i] * b[k, j];
}
model wf_param {
  input a : bf16[70, 65];
  param b : f32[65, 72];
  output x[i, j] = sum(k) a[i, k] * b[k, j];
}
model wf_three {
  input a : f16[67, 72];
  input c : f16[72];
  input b : f16[84, 72];
  output y[i, k] = sum(j) a[i, j] * c[j] * b[k, j];
}
model wf_turned {
  input a : f16[66, 88];
  input c : f32[66];
  input b : f16[66, 73];
  output y[k, i] : f16 = sum(j) a[j, i] * c[j] * b[j, k];
}
model wf_wide {
  input a : f32[66, 88];
  param b : f16[88, 66];
  output y[i, k] = sum(j) a[j, i] * b[k, j];
}
model wf_integers {
  input x : f32[68, 65];
  input m : bool[72, 68];
  param w : i8[65, 70];
  t[i, k] = sum(j) x[j, k] * m[i, j];
  output y[i, n] = sum(k) t[i, k] * w[k, n];
}
model wf_heads {
  input q : f16[2, 2, 72, 64];
  input a : f32[2, 2, 72, 64];
  output y[b, h, n, m] = sum(d) q[b, h, n, d] * sigmoid(a[b, h, m, d]);
}
model wf_window {
  input x : bf16[1, 64, 9, 10];
  input w : f32[64, 64, 3, 3];
  output y[n, k, p in 0..9, q in 0..10] = sum(c, r, s) (x[n, c, p + r - 1, q + s - 1] or 0) * w[k, c, r, s];
}
// a key that nobody looks at: all that its sum adds up is far below what others add up
model wf_far { input s : f32[2, 256, 256]; input v : f16[2, 256, 64]; input b : f32[256];
  t[h, i, j] = s[h, i, j] + b[j] - 45.0 * (j == 3); p = softmax(t); output o[h, j, e] = sum(i) p[h, i, j] * v[h, i, e]; }
