// Steps of which kernels were once longer than a reader follows (texts.sh).

// two batch norms' gradients, and what their sums update
block bn(x: T[N, C, ..]) -> y {
  param g : T[C] = "weight" or ones;
  param b : T[C] = "bias" or zeros;
  y = batch_norm_train(x, g, b) as "";
}
model norms {
  dim B = 32;  type E = f16;
  input x : E[B, 256, 7, 7];
  param w : E[512, 256, 1, 1];
  param v : E[512, 256, 1, 1];
  input t : E[B, 512, 7, 7];
  h = relu(bn(conv2d(x, w)) as "one" + bn(conv2d(x, v)) as "two");
  output loss = mse(h, t);
  for p in params { p = p - 0.01 * grad(loss * 64, p); }
}
// a GRU's biases, which all its steps have a part in
block cell(x: T[B, D], h: T[B, H]) -> y {
  param wi : T[3 * H, D];  param bi : T[3 * H];
  param wh : T[3 * H, H];  param bh : T[3 * H];
  a = linear(x, wi, bi);  c = linear(h, wh, bh);
  z[b, j in 0..H] = sigmoid(a[b, j + H] + c[b, j + H]);
  y[b, j in 0..H] = (1 - z[b, j]) * tanh(a[b, j + 2 * H] + sigmoid(a[b, j] + c[b, j]) * c[b, j + 2 * H])
      + z[b, j] * h[b, j];
}
model gru {
  input x : f16[4, 64, 128];
  h : f16[64, 256] = 0;
  for s in 0..4 { xs[b, d] = x[s, b, d]; h = cell(xs, h) as "gru"; }
  loss = square_sum(h);
  for p in params { p = p - 0.01 * grad(loss, p); }
  output loss;
}
// gradients of keys that heads share, under a causal mask, added up over the heads
model shared {
  dim S = 512;
  input q : f16[16, S, 9 * 64];  input k : f16[16, S, 3 * 64];  input v : f16[16, S, 3 * 64];
  qs[b in 0..16, h in 0..9, i in 0..S, d in 0..64] = q[b, i, h * 64 + d];
  ks[b in 0..16, h in 0..3, i in 0..S, d in 0..64] = k[b, i, h * 64 + d];
  vs[b in 0..16, h in 0..3, i in 0..S, d in 0..64] = v[b, i, h * 64 + d];
  a = grouped_attention(qs, ks, vs, causal = true);
  o[b, i, e in 0..9 * 64] = a[b, e / 64, i, e % 64];
  u = random(1, o);
  w = f32(o) * u;
  loss[] = sum(b, i, e) w[b, i, e];
  output dq = grad(loss, q);  output dk = grad(loss, k);  output dv = grad(loss, v);
}
