// Computed factors that 16 bits hold become tensors, of load time where
// parameters alone are in them; windows, short sides and factors of f32 stay.
model computed {
  input x : f16[64, 96]; param q : i8[64, 96]; input m : bool[64, 96];
  input g : f16[96]; param w : f16[64, 64, 3];
  input ids : i32[64] in 0..96;
  output y[i, j] = sum(k) x[i, k] * q[j, k];
  output z[i, j] = sum(k) (m[i, k] ? x[i, k] : 0) * x[j, k];
  output o[i, j] = sum(k) (ids[i] == k ? 1.0 : 0.0) * x[j, k];
  output f[i, j] : f32 = sum(k) x[i, k] * g[k] * x[j, k];
  output c[i, p in 0..96] = sum(k in 0..64, r in 0..3) relu(x[k, p + r - 1] or 0) * w[i, k, r];
  output s[i, j in 0..8] = sum(k) q[i, k] * x[j, k];
}
