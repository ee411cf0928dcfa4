// ranges of data: promised, known of a definition, unknown
model ranges {
  input ids : i32[2, 6] in 0..10;
  input raw : i32[4];
  input q   : i8[4];
  input on  : bool[4];
  param table : f32[10, 3];
  flat = reshape(ids, shape = [12]);
  next[i] = (flat[i] + 1) % 10;
  best[i] = argmax(j) table[i, j];
  a[i, d] = table[flat[i], d] + table[next[i], d];
  b[i] = table[i, best[i]] + table[9 - best[i], best[i] / 2];
  c[i] = table[raw[i], 0] + table[raw[i] % 10, 0] + table[max(min(raw[i], 5), 2), 0];
  e[i] = table[q[i], 0] + table[on[i] * 9, 2] + (table[raw[i] + q[i], 1] or -1);
  f[i] = table[flat[next[i]], 1] + (table[flat[i] - 1, 0] or table[0, 0]);
  g[i in 0..12] = table[(flat[i - 1] or 3) + 0, 0];
  output a; output b; output c; output e; output f; output g;
}
