// Products turned whose sum is of parts, each a block's: the last one to leave
// its sums turns what it adds up.
model one_tile {
  param w : f16[64, 1600];
  param b : f32[64];
  input x : f16[70, 1600];
  output y[i, j] : f16 = relu((sum(k) f32(x[i, k]) * f32(w[j, k])) + b[j]);
}
model overlapping {
  param w : bf16[64, 1600];
  input x : bf16[131, 1600];
  output y[i, j] : bf16 = sum(k) f32(x[i, k]) * f32(w[j, k]);
}
