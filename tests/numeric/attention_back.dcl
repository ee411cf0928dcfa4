// Gradients of attentions, by chains: scores are made again in each.

op ab_loss(y: T[..]) -> s: f32 { u = random(7, y); s[] = sum(..) f32(y[..]) * (u[..] - 0.5); }

model ab_plain { input q : f16[2, 2, 130, 64]; input k : f16[2, 2, 190, 64]; input v : f16[2, 2, 190, 40];
  loss = ab_loss(attention(q, k, v)); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
model ab_causal { input q : f16[2, 150, 64]; input k : f16[2, 150, 64]; input v : f16[2, 150, 64];
  loss = ab_loss(attention(q, k, v, causal = true)); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
// a bias of its own, and its gradient
model ab_bias { input q : f16[2, 2, 166, 80]; input k : f16[2, 2, 172, 80]; input v : f16[2, 2, 172, 80]; input b : f16[2, 166, 172];
  loss = ab_loss(attention(q, k, v, b)); output loss; output dq = grad(loss, q); output dv = grad(loss, v); output db = grad(loss, b); }
// two heads of queries for each of keys and values
model ab_groups { input q : f16[4, 136, 64]; input k : f16[2, 136, 64]; input v : f16[2, 136, 64];
  loss = ab_loss(grouped_attention(q, k, v, causal = true)); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
// a window of 32
model ab_window { input q : f16[2, 200, 64]; input k : f16[2, 200, 64]; input v : f16[2, 200, 64];
  s[b, i, j] : f32 = j > i || j < i - 31 ? -inf : 0.125 * sum(d) q[b, i, d] * k[b, j, d];
  p : f16 = softmax(s);
  y[b, i, e] : f16 = sum(j) p[b, i, j] * v[b, j, e];
  loss = ab_loss(y); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
// scores of hundreds, whose differences are few
model ab_great { input q : f16[2, 150, 64]; input k : f16[2, 170, 64]; input v : f16[2, 170, 64]; input r : f32[150]; input c : f32[170];
  s[b, i, j] : f32 = 0.5 * (sum(d) q[b, i, d] * k[b, j, d]) + (300 * r[i] + c[j]); p : f16 = softmax(s);
  y[b, i, e] : f16 = sum(j) p[b, i, j] * v[b, j, e];
  loss = ab_loss(y); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
// nothing is there to sum in another order: the probabilities are used alone
// probabilities that stay f32, forward
model ab_weights { input q : f16[2, 3, 80, 64]; input k : f16[2, 3, 400, 64]; input v : f16[2, 3, 400, 64];
  s[b, h, i, j] : f32 = (sum(d) q[b, h, i, d] * k[b, h, j, d]) * 0.125; p = softmax(s);
  output y[b, h, i, d] = sum(j) p[b, h, i, j] * v[b, h, j, d]; }
model ab_weights_masked { input q : f16[2, 90, 64]; input k : f16[2, 400, 64]; input v : f16[2, 400, 72];
  s[h, i, j] : f32 = j > i + 300 ? -inf : (sum(d) q[h, i, d] * k[h, j, d]) * 2; p = softmax(s);
  output y[h, i, d] : f16 = sum(j) p[h, i, j] * v[h, j, d]; }
// in three parts of bf16: the same, and gradients
model ab_thirds { input q : bf16[2, 3, 80, 64]; input k : bf16[2, 3, 400, 64]; input v : bf16[2, 3, 400, 64];
  s[b, h, i, j] : f32 = (sum(d) q[b, h, i, d] * k[b, h, j, d]) * 0.125; p = softmax(s);
  output y[b, h, i, d] = sum(j) p[b, h, i, j] * v[b, h, j, d]; }
model ab_thirds_masked { input q : bf16[2, 90, 64]; input k : bf16[2, 400, 64]; input v : bf16[2, 400, 72];
  s[h, i, j] : f32 = j > i + 300 ? -inf : (sum(d) q[h, i, d] * k[h, j, d]) * 2; p = softmax(s);
  output y[h, i, d] = sum(j) p[h, i, j] * v[h, j, d]; }
model ab_bf16 { input q : bf16[2, 2, 130, 64]; input k : bf16[2, 2, 190, 64]; input v : bf16[2, 2, 190, 40];
  loss = ab_loss(attention(q, k, v)); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
// heads that share keys and values: gradients of these are sums over the heads, too
model ab_shared { input q : f16[2, 6, 136, 32]; input k : f16[2, 2, 136, 32]; input v : f16[2, 2, 136, 32];
  loss = ab_loss(grouped_attention(q, k, v)); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
// and of heads that lie side by side in a row of their results
model ab_shared_flat { input q : f16[2, 136, 6 * 32]; input k : f16[2, 136, 2 * 32]; input v : f16[2, 136, 2 * 32];
  qs[b, h in 0..6, i, d in 0..32] = q[b, i, h * 32 + d]; ks[b, h in 0..2, i, d in 0..32] = k[b, i, h * 32 + d];
  vs[b, h in 0..2, i, d in 0..32] = v[b, i, h * 32 + d]; a = grouped_attention(qs, ks, vs, causal = true);
  o[b, i, e in 0..6 * 32] = a[b, e / 32, i, e % 32];
  loss = ab_loss(o); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
// scores that gradients of keys and values have in common: with a bias; of heads side by side
model ab_twin_bias { input q : f16[2, 2, 166, 80]; input k : f16[2, 2, 172, 80]; input v : f16[2, 2, 172, 80]; input b : f16[166, 172];
  s[b, h, i, j] : f32 = (sum(d) q[b, h, i, d] * k[b, h, j, d]) * 0.1 + b[i, j]; p : f16 = softmax(s);
  y[b, h, i, e] : f16 = sum(j) p[b, h, i, j] * v[b, h, j, e];
  loss = ab_loss(y); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
model ab_twin_heads { input q : f16[2, 140, 4 * 64]; input k : f16[2, 140, 4 * 64]; input v : f16[2, 140, 4 * 64];
  qs[b, h in 0..4, i, d in 0..64] = q[b, i, h * 64 + d]; ks[b, h in 0..4, i, d in 0..64] = k[b, i, h * 64 + d];
  vs[b, h in 0..4, i, d in 0..64] = v[b, i, h * 64 + d]; a = attention(qs, ks, vs, causal = true);
  o[b, i, e in 0..4 * 64] : f16 = a[b, e / 64, i, e % 64];
  loss = ab_loss(o); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
// a key that all but nobody looks at: what its gradient sums is far below f16's range, and below others'
model ab_far { input q : f16[2, 2, 128, 64]; input k : f16[2, 2, 192, 64]; input v : f16[2, 2, 192, 64]; input b : f32[192];
  s[b, h, i, j] : f32 = (sum(d) q[b, h, i, d] * k[b, h, j, d]) * 0.1 + b[j] - 45.0 * (j == 3); p : f16 = softmax(s);
  y[b, h, i, e] : f16 = sum(j) p[b, h, i, j] * v[b, h, j, e];
  loss = ab_loss(y); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
// gradients of scores beyond it; and a result in f16 of a sum that others read before it is divided
model ab_near { input q : f16[2, 2, 128, 64]; input k : f16[2, 2, 192, 64]; input v : f16[2, 2, 192, 64]; input b : f32[192];
  u[b, h, j, e] = v[b, h, j, e] * (j == 7 ? 1024.0 : 1.0);
  s[b, h, i, j] : f32 = (sum(d) q[b, h, i, d] * k[b, h, j, d]) * 0.1 + b[j] - 9.0 * (j == 3); p = softmax(s);
  y[b, h, i, e] : f16 = sum(j) p[b, h, i, j] * u[b, h, j, e];
  loss : f32 = ab_loss(y) * 16384; output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
// weights whose factor may go into the exponent of their power, and not
model ab_signs { input q : f16[2, 150, 64]; input k : f16[2, 170, 64]; input v : f16[2, 170, 64]; input m : f32[170]; input c : f32[170];
  p[b, i, j] : f16 = exp(0.125 * (sum(d) q[b, i, d] * k[b, j, d]) - m[j] * m[j]) * c[j];
  output y[b, i, e] : f16 = sum(j) p[b, i, j] * v[b, j, e]; }
model ab_positive { input q : f16[2, 150, 64]; input k : f16[2, 170, 64]; input v : f16[2, 170, 64]; input m : f32[170]; input c : f32[170];
  p[b, i, j] : f16 = exp(0.125 * (sum(d) q[b, i, d] * k[b, j, d]) - m[j] * m[j]) * (0.25 + c[j] * c[j]);
  output y[b, i, e] : f16 = sum(j) p[b, i, j] * v[b, j, e]; }
// a batch of one
model ab_one { input q : f16[1, 2, 150, 64]; input k : f16[1, 2, 150, 64]; input v : f16[1, 2, 150, 64];
  loss = ab_loss(attention(q, k, v, causal = true)); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
model ab_one_flat { input c : f16[1, 140, 3 * 128];
  q[b, h in 0..2, i, d in 0..64] = c[b, i, h * 64 + d]; k[b, h in 0..2, i, d in 0..64] = c[b, i, 128 + h * 64 + d];
  v[b, h in 0..2, i, d in 0..64] = c[b, i, 256 + h * 64 + d]; a = attention(q, k, v, causal = true);
  o[b, i, e in 0..128] = a[b, e / 64, i, e % 64];
  loss = ab_loss(o); output loss; output dc = grad(loss, c); }
