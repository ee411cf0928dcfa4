// Gradients of attentions: what is summed over a row of scores is summed over
// its results instead (reassociate.h).

op ab_loss(y: T[..]) -> s: f32 { u = random(7, y); s[] = sum(..) f32(y[..]) * (u[..] - 0.5); }

model ab_bf16 { input q : bf16[3, 40, 48]; input k : bf16[3, 64, 48]; input v : bf16[3, 64, 128];
  loss = ab_loss(attention(q, k, v, scale = 0.2)); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
model ab_f32 { input q : f32[2, 33, 24]; input k : f32[2, 47, 24]; input v : f32[2, 47, 16];
  loss = ab_loss(attention(q, k, v)); output loss; output dq = grad(loss, q); output dk = grad(loss, k); output dv = grad(loss, v); }
model ab_alone { input x : f32[5, 37]; input w : f32[37, 8];
  p = softmax(x); loss = ab_loss(p); output loss; output dx = grad(loss, x); }
