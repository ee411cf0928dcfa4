// Tiles that two warpgroups share, more of them than blocks (flavour pairs). The
// first has so few steps that one warpgroup could be a tile ahead of the other;
// in the others slots see to it that it is not.
model pairs_1 { input x : f16[22000, 64]; param w : f16[128, 64]; output y = relu(linear(x, w)); }
model pairs_3 { input x : f16[17100, 192]; param w : f16[128, 192]; input r : f16[17100, 128]; output y = linear(x, w) + r; }
model pairs_4 { input x : bf16[17100, 256]; param w : bf16[128, 256]; output y = linear(x, w); }
// Tiles above the diagonal are read by nobody, and some blocks begin at one.
model pa_unread {
  input q : f16[18, 384, 64]; input k : f16[18, 384, 64];
  @nofuse s[b, i, j] : f32 = sum(d) q[b, i, d] * k[b, j, d];
  output y[b, i] = max(j) (j <= i ? s[b, i, j] : 0);
}
