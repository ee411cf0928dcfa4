// arithmetic on parameters at load time (hoist.c), and where it must not move
model norms {
  input x : f16[3, 6, 5];
  param g : f16[6];
  param b : f16[6];
  param m : f16[6];
  param v : f16[6];
  param g2 : f32[6];
  param b2 : f32[6];
  param m2 : f32[6];
  param v2 : f32[6];
  output y = batch_norm(x, g, b, m, v) + batch_norm(f32(x), g2, b2, m2, v2);
}
model signs {
  input x : f16[5, 7];
  input n : i32[5, 7];
  param g : f32[7];
  param b : f32[7];
  param one : f32;
  param t : f32[5, 7];
  output o[i, c] = (1 - (2 - x[i, c]) * one * 3 * sqrt(one)) * g[c] * 2 - 7 * b[c];
  output p[i, c] = -((t[i, c] - x[i, c]) * t[i, c] * 2 * g[c] - 4 * exp(t[i, c]));
  output q[i, c] = (n[i, c] - g[c]) * (g[c] + 1) * (b[c] + 1) + b[c];
  output r[i, c] = f16((x[i, c] - g[c]) * (g[c] + 1) * b[c] + 1) * g[c] * 2 * (1 + b[c]);
  output s[i, c] = x[i, c] > 0 ? (x[i, c] - g[c]) * (g[c] + 1) * b[c] + 1 : 0;
}
model gathered {
  input x : f32[5, 7];
  input ids : i32[5] in 0..9;
  param g : f32[9];
  output y[i, c] = (x[i, c] - g[ids[i]]) * exp(g[ids[i]]) * g[ids[i]] + g[ids[i]];
}
// in the epilogue of a product
model product {
  type E = f16;
  input x : E[33, 24];
  param w : E[17, 24];
  param g : E[17];
  param b : E[17];
  param m : E[17];
  param v : E[17];
  output y = relu(batch_norm(linear(x, w), g, b, m, v));
}
// what is made at load time between what a run makes, and hoisted out of it
model pa_between { input x : f32[8, 32];
  m[i, j] = sum(k) x[i, k] * x[j, k];
  c[j in 0..64] : f32 = sin(f32(j));
  e[j in 0..8] : f32 = max(r in 0..4) c[4 * j + r];
  n[j] : f16 = -e[j];
  output y[i, j] = m[i, j] - (1.0 - n[j]) * 100; }
