// Attention whose scores are computed again from q and k for their gradients:
// rounded otherwise than those that the forward pass left in memory.
block scored(x: T[B, S, D]) -> y {
  param wq : T[D, D] = normal(0.1);
  param wk : T[D, D] = normal(0.1);
  param wv : T[D, D] = normal(0.1);
  q = linear(x, wq); k = linear(x, wk); v = linear(x, wv);
  s[b, i, j] = sum(d) q[b, i, d] * k[b, j, d] * 2;
  a = softmax(s);
  o[b, i, d] = sum(j) a[b, i, j] * v[b, j, d];
  y = x + gelu(o);
}
model scores {
  input x : f32[4, 144, 16];
  h = scored(x) as "a0";
  h = scored(h) as "a1";
  m[b, d] = sum(i) h[b, i, d] * 0.01;
  param w : f32[10, 16] = normal(0.3);
  input t : i32[4] in 0..10;
  output loss = cross_entropy(linear(m, w), t);
  for v in params { v = v - 0.1 * grad(loss, v); }
}
