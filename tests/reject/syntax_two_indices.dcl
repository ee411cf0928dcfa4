model m {
  input x : f32[4];
  output y = f[1, 2](x);
}
