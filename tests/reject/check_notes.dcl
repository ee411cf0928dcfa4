model m {
  input x : f32[4];
  @nofuze y = x + 1;
  @nofuse(y) z = y + 1;
  @fuse w = z + 1;
  @fuse(3) v = z + w;
  @fuse(y, zz) u = y * 2;
  @tile(m = x) dim D = 3;
  output v;
}
