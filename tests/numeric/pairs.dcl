// Tiles that two warpgroups share, more of them than blocks (flavour pairs). The
// first has so few steps that one warpgroup could be a tile ahead of the other;
// in the others slots see to it that it is not.
model pairs_1 { input x : f16[22000, 64]; param w : f16[128, 64]; output y = relu(linear(x, w)); }
model pairs_3 { input x : f16[17100, 192]; param w : f16[128, 192]; input r : f16[17100, 128]; output y = linear(x, w) + r; }
model pairs_4 { input x : bf16[17100, 256]; param w : bf16[128, 256]; output y = linear(x, w); }
