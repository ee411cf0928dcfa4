// Heads: variables are split until every index is affine.
model heads {
  input x : f16[6, 24];
  param w : f16[24, 24];
  h = linear(x, w);
  output o[i, d in 0..24] : f16 = h[i, d % 8 * 3 + d / 8];
  output r = reshape(h, shape = [3, 48]);
}
