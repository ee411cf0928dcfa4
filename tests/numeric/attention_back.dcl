// Gradients of attentions: what is summed over a row of scores is summed over
// its results instead (reassociate.h).

op ab_loss(y: T[..]) -> s: f32 { u = random(7, y); s[] = sum(..) f32(y[..]) * (u[..] - 0.5); }

model ab_plain { input q : f16[2, 3, 70, 64]; input k : f16[2, 3, 90, 64]; input v : f16[2, 3, 90, 40];
  loss = ab_loss(attention(q, k, v)); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
model ab_causal { input q : f16[2, 150, 64]; input k : f16[2, 150, 64]; input v : f16[2, 150, 64];
  loss = ab_loss(attention(q, k, v, causal = true)); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
model ab_bf16 { input q : bf16[3, 40, 48]; input k : bf16[3, 64, 48]; input v : bf16[3, 64, 128];
  loss = ab_loss(attention(q, k, v, scale = 0.2)); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
model ab_f32 { input q : f32[2, 33, 24]; input k : f32[2, 47, 24]; input v : f32[2, 47, 16];
  loss = ab_loss(attention(q, k, v)); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
// a bias of its own, and its gradient
model ab_bias { input q : f16[2, 2, 66, 80]; input k : f16[2, 2, 97, 80]; input v : f16[2, 2, 97, 80]; input b : f16[2, 66, 97];
  loss = ab_loss(attention(q, k, v, b)); output loss; output dq = grad(loss, q); output dv = grad(loss, v); output db = grad(loss, b); }
// four heads of queries for each of keys and values
model ab_groups { input q : f16[8, 72, 64]; input k : f16[2, 72, 64]; input v : f16[2, 72, 64];
  loss = ab_loss(grouped_attention(q, k, v, causal = true)); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
// a window of 32
model ab_window { input q : f16[2, 200, 64]; input k : f16[2, 200, 64]; input v : f16[2, 200, 64];
  s[b, i, j] : f32 = j > i || j < i - 31 ? -inf : 0.125 * sum(d) q[b, i, d] * k[b, j, d];
  p : f16 = softmax(s);
  y[b, i, e] : f16 = sum(j) p[b, i, j] * v[b, j, e];
  loss = ab_loss(y); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
// nothing is there to sum in another order: the probabilities are used alone
model ab_alone { input x : f32[5, 37]; input w : f32[37, 8];
  p = softmax(x); loss = ab_loss(p); output loss; output dx = grad(loss, x); }
