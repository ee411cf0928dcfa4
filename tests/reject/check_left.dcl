model m {
  dim N = 2;
  input x : f32[4];
  input pos : i32;
  state s : f32[4];
  a[N] = 3;
  b[pos] = 3;
  c[p] += x[p];
  d[i * e] = x[i];
  f[x[0]] = x[i];
  s[pos % 4] = x[0];
  output y = x;
}
