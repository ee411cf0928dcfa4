// A bias by relative place is laid out once: left as it is, it would split i and
// j, and the columns of the scores with them. One whose statement splits them
// anyhow stays, as does one that would be large.
model tables {
  input q : f16[2, 9, 16];
  param t : f16[25];
  param u : f16[2000];
  s[b, i, j] : f32 = sum(d) q[b, i, d] * q[b, j, d] + t[(i / 3 - j / 3 + 2) * 5 + i % 3 - j % 3 + 2];
  output y = s;
  output z[b, i in 0..9, j] : f32 = s[b, i / 3 * 3, j] + t[(i / 3 - j / 3 + 2) * 5 + i % 3 - j % 3 + 2];
  output w[i in 0..2000, j in 0..2000] : f32 = u[(i / 2 + j / 2) % 2000] + q[0, 0, 0];
}
