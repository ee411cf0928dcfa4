// Pieces of long sums are of what lies side by side: of groups of channels
// that are innermost some rows of pixels, of others some channels.
model pieces {
  input x : f16[2, 128, 128, 128];
  input u : f16[2, 128, 128, 128];
  output y[n, g in 0..32] : f32 = sum(c in 0..4, i, j) x[n, i, j, g * 4 + c];
  output z[n, g in 0..32] : f32 = sum(c in 0..4, i, j) u[n, g * 4 + c, i, j];
}
