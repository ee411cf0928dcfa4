// Heads that the next product has in one row are one dimension from the start
model joined {
  input p : f16[2, 3, 5, 7]; input v : f16[2, 3, 7, 4]; param w : f16[6, 12];
  a[b, n, i, e] = sum(j) p[b, n, i, j] * v[b, n, j, e];
  output y = linear(reshape(transpose(a, perm = [0, 2, 1, 3]), shape = [10, 12]), w);
}
// read apart, too: they stay two
model apart {
  input p : f16[2, 3, 5, 7]; input v : f16[2, 3, 7, 4]; param w : f16[6, 12];
  a[b, n, i, e] = sum(j) p[b, n, i, j] * v[b, n, j, e];
  output y[b, i, o] = sum(d) a[b, d / 4, i, d % 4] * w[o, d];
  output z[b, n] = max(i, e) a[b, n, i, e];
}
// the columns come first in the row: a transpose, which stays a read
model columns_first {
  input p : f16[2, 3, 5, 7]; input v : f16[2, 3, 7, 4]; param w : f16[6, 12];
  a[b, n, i, e] = sum(j) p[b, n, i, j] * v[b, n, j, e];
  output y[b, i, o] = sum(d) a[b, d % 3, i, d / 3] * w[o, d];
}
