// Gradients of tables that data look rows up in, large enough for a product with which rows are one (scatter.c).
model tb_plain {
  input ids : i32[4, 32] in 0..512;
  input r : f32[4, 32, 64];
  param e : f32[512, 64];
  x = embedding(ids, e);
  loss[] = sum(b, s, d) x[b, s, d] * r[b, s, d];
  for w in params { w = w - 0.1 * grad(loss, w); }
  output loss;
}
// tied to the last product, of 16 bits, beside a table that is too small
model tb_tied {
  input ids : i32[129] in 0..520;
  input seg : i32[129] in 0..2;
  param e : f16[520, 64];
  param p : f16[2, 64];
  h[n, d] = e[ids[n], d] + p[seg[n], d];
  z = linear(tanh(h), e);
  loss[] : f32 = mean(i, v) f32(z[i, v]) * z[i, v];
  for w in params { w = w - 0.1 * grad(loss, w); }
  output loss;
}
// a range of data within what is summed up, and several chunks of points
model tb_bag {
  input ids : i32[64, 20] in 0..2000;
  input len : i32[64] in 1..20;
  input c : f32[64, 32];
  param e : f32[2000, 32];
  h[b, d] = sum(k in 0..len[b]) e[ids[b, k], d] * c[b, d];
  loss[] = sum(b, d) h[b, d] * h[b, d];
  for w in params { w = w - 0.1 * grad(loss, w); }
  output loss;
}
// chunks of f16 readers
model tb_chunks {
  input ids : i32[9, 257] in 0..300;
  input r : f16[9, 257, 16];
  param e : f16[300, 16];
  x = embedding(ids, e);
  y[b, s, d] = x[b, s, d] * r[b, s, d];
  loss[] : f32 = mean(b, s, d) f32(y[b, s, d]) * y[b, s, d];
  for w in params { w = w - 0.1 * grad(loss, w); }
  output loss;
}
