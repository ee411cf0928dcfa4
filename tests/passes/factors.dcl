// Factors that do not use the summed index leave the sum; a column's scale stays f32 behind it, and what
// quotients are divided by comes after the sum of them.
model factors {
  input q : f16[8, 16];
  input k : f16[8, 16];
  input s : f32[8];
  output y[i, j] : f32 = sum(d) s[i] * q[i, d] * k[j, d] / sqrt(16);
  input v : f32[8, 4];
  e[i, j] : f32 = exp(s[j] - s[i]);
  t[i] : f32 = sum(j) e[i, j];
  p[i, j] : f32 = e[i, j] / t[i];
  output z[i, c] : f32 = sum(j) p[i, j] * v[j, c];
}
