// Reads where data points, promised or not, computed ones too; an output that
// others read, of which a thread would take several rows.
model net {
  dim B in {3, 8};
  input ids : i32[B, 4];
  input pos : i32[B] in 0..5;
  input x : f32[B, 5, 8];
  param e : f32[20, 8];
  a[b, k] = argmax(d) (x[b, k, d] + e[ids[b, 1], d]);
  g[b, k, d] = e[a[b, k], d] + e[ids[b, k / 2], d];
  output y = softmax(g);
  output z[b, d] = x[b, pos[b], d];
  output s[b, d] = x[b, ids[b, 3], d] or 0;
  output l[b, d] = sum(k) g[b, k, d] * x[b, k, d];
  output m = argmax(l);
  output w = a;
}
