// Factors that do not use the summed index leave the sum; a column's scale stays f32 behind it.
model factors {
  input q : f16[8, 16];
  input k : f16[8, 16];
  input s : f32[8];
  output y[i, j] : f32 = sum(d) s[i] * q[i, d] * k[j, d] / sqrt(16);
}
