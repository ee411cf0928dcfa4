// reads that can leave their tensors
op shift(x: T[N]) -> y: T[N] { y[i] = x[i + 1]; }
op outer(x: T[N]) -> y: T[N] { y = shift(x) + 1; }
model bounds {
  input x   : f32[8, 4];
  input ids : i32[8] in 0..9;
  input k   : i32[8];
  a[i, j] = x[i + 1, j];
  b[i in 0..9] = x[i, 0];
  c[i] = x[i, 0] + x[2 * i, 4];
  d[i in 0..8] = x[ids[i], 0];            // the promise does not fit
  e[i in 0..8] = i > 0 ? x[i - 1, 0] : 0; // ?: narrows nothing
  f[i in 0..8] = x[k[i], 0];              // clamped
  g[i in 0..8] = x[i / 3 - 1, 0];
  h[i, j in 0..4] = x[i, max(j - 1, 0) - 1];
  row[i] = x[i, 0];
  z = outer(row);
  l[i] = z[i];
  m[i in 0..4, j in 0..9] = row[2 * i + j % 2 + 1];
  n[i] = f[i] + (row[i - 1] or 0);
  output y = row;
}
