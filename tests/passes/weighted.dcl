// A sum over sampled points that is no product lies along channels as its terms
// do, though the next product would take it along the queries as well
model weighted {
  input x : f16[2, 64, 48]; param wv : f16[48, 48]; input at : i32[2, 40, 12] in 0..64;
  input p : f16[2, 40, 12]; param w : f16[48, 48];
  v = linear(x, wv);
  g[n, c, q, s] = v[n, at[n, q, s], c];
  m[n, c, q, s] = g[n, c, q, s] * p[n, q, s];
  o[n, c, q] = sum(s) m[n, c, q, s];
  output y[n, q, e] = sum(c) o[n, c, q] * w[e, c];
}
