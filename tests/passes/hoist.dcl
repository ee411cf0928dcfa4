// what parameters do among themselves is done at load time
model channels {
  input x : f16[4, 6, 5];
  param g : f16[6];
  param b : f16[6];
  param m : f16[6];
  param v : f16[6];
  output y = batch_norm(x, g, b, m, v);
}
// signs, integers, casts, both sides
model signs {
  input x : f16[5, 7];
  input n : i32[5, 7];
  param g : f32[7];
  param b : f32[7];
  param one : f32;
  output p[i, c] = (1 - (2 - x[i, c]) * one * 3 * sqrt(one)) * g[c] * 2 - 7 * b[c];
  output q[i, c] = (n[i, c] - g[c]) * (g[c] + 1) * (b[c] + 1) + b[c];
  output r[i, c] = f16((x[i, c] - g[c]) * (g[c] + 1) * b[c] + 1) * g[c] * 2 * (1 + b[c]);
}
// data chooses, or nothing would be saved: these stay
model stay {
  input x : f16[5, 7];
  input ids : i32[5] in 0..9;
  param g : f32[9];
  param h : f32[7];
  param big : f32[300, 300];
  input z : f32[300, 300];
  output p[i, c] = (x[i, c] - g[ids[i]]) * sqrt(g[ids[i]]) * g[ids[i]] + g[ids[i]];
  output q[i, c] = x[i, c] * h[c] + h[c];
  output r[i, j] = (z[i, j] - big[i, j]) * sqrt(big[i, j]) * 2 + big[i, j];
}
