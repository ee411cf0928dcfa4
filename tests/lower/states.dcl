// writes to state
model states {
  input x : f32[4];
  input pos : i32;
  state s : f32[8, 4];
  s[pos, j] = x[j];
  s[8, j] = x[j];
  s[j + 5, j] = x[j];
  s[pos + j, j] = x[j];
  s[0, j] = x[j] + s[j, 4];
  s[0, j] : f16 = x[j];
  s[i, j in 0..3] = x[j];
  s = x;
  s = s * 2;
  output o = x;
}
