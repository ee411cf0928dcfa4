// Tensors that lie in a part of another: concatenations that grow, stacks, interleaved rows; read by both names
op em_loss(y: T[..]) -> s: f32 { u = random(7, y); s[] = sum(..) f32(y[..]) * (u[..] - 0.5); }
model em_grows { input x : f16[2, 8, 9, 7]; param w1 : f16[8, 8, 3, 3]; param w2 : f16[16, 16, 3, 3]; param w3 : f16[8, 32, 1, 1]; param w4 : f16[5, 40, 1, 1];
  h = relu(x); h = concat(h, conv2d(h, w1, pad = 1), axis = 1); h = concat(h, conv2d(relu(h), w2, pad = 1), axis = 1);
  h = concat(h, conv2d(h, w3), axis = 1); output y = conv2d(h, w4); }
model em_grows_ragged { input x : f16[1, 5, 9, 7]; param w1 : f16[3, 5, 3, 3]; param w2 : f16[7, 8, 3, 3];
  h = relu(x); h = concat(h, conv2d(h, w1, pad = 1), axis = 1); h = concat(h, conv2d(h, w2, pad = 1), axis = 1); output y = global_avg_pool(h); }
model em_stack { input x : f16[6, 24]; param a : f16[16, 24]; param b : f16[16, 24]; param c : f16[16, 24];
  p = relu(linear(x, a)); q = relu(linear(p, slice(b, axis = 1, last = 16))); r = relu(linear(x, c));
  z[i, 0, d] = p[i, d]; z[i, 1, d] = q[i, d]; z[i, 2, d] = r[i, d];
  output y[i, k, l] = sum(d) z[i, k, d] * z[i, l, d]; }
model em_interleaved { input x : f32[5, 7, 12]; a = exp(x); b = softmax(x);
  z[i, 2 * j, d] = a[i, j, d]; z[i, 2 * j + 1, d] = b[i, j, d];
  output y[i, d] = sum(j in 0..14) z[i, j, d]; output m[i, d] = max(j) a[i, j, d]; }
model em_turned { input x : f16[8, 16]; a = exp(x); b = softmax(x);
  z[i in 0..16, j in 0..8] = a[j, i]; z[i in 0..16, j in 8..16] = b[j - 8, i]; output y[i] = sum(j) z[i, j]; output s[j] = sum(i) a[j, i]; }
model em_twice { input x : f16[4, 32]; a = exp(x); b = tanh(a); c = concat(a, b, a, axis = 1); d = concat(b, c, axis = 1);
  output y[i] = sum(j) c[i, j]; output z[i] = max(j) d[i, j]; }
model em_both_names { input x : f32[3, 16]; param w : f32[16, 48]; a = softmax(x); b = relu(a); c = concat(a, b, a * b, axis = 1);
  d[i, k] = a[i, k] * sum(j) c[i, j] * w[k, j]; output y = concat(d, c, axis = 1); }
model em_rows { input x : f16[3, 40]; input z : f16[5, 40]; param g : f16[40]; param b : f16[40]; param w : f16[24, 40];
  h = concat(layer_norm(x, g, b), layer_norm(z, g, b), axis = 0); output y = linear(h, w); }
model em_unet { input x : f16[1, 8, 12, 12]; param w1 : f16[8, 8, 3, 3]; param w2 : f16[16, 8, 3, 3]; param w3 : f16[8, 24, 3, 3];
  a = relu(conv2d(x, w1, pad = 1)); d = relu(conv2d(max_pool(a, kernel = 2), w2, pad = 1)); output y = conv2d(concat(upsample(d), a, axis = 1), w3, pad = 1); }
model em_heads { input x : bf16[2, 10, 32]; input past : bf16[2, 2, 6, 16]; param wk : bf16[32, 32]; k = linear(x, wk);
  n[b, h in 0..2, s, d in 0..16] = k[b, s, h * 16 + d]; keys = concat(past, n, axis = 2); q = relu(n); output y = attention(q, keys, keys); }
// gradients of what is read in parts: of rows, of heads in another order; with a rest that nobody reads, and with parts that overlap
model em_parts { input x : f16[24, 40]; input w : f16[96, 40]; c = linear(x, w);
  q[i, d in 0..32] = c[i, d]; k[i, d in 0..32] = c[i, 32 + d]; v[i, d in 0..32] = c[i, 64 + d];
  s[i, j] : f16 = 0.1 * sum(d) q[i, d] * k[j, d]; y[i, e] : f16 = sum(j) s[i, j] * v[j, e];
  loss = em_loss(y); output loss; output dw = grad(loss, w); output dx = grad(loss, x); }
model em_parts_heads { input x : f16[2, 24, 40]; input w : f16[96, 40]; c = linear(x, w);
  q[b, h in 0..2, i, d in 0..16] = c[b, i, h * 16 + d]; k[b, h in 0..2, i, d in 0..16] = c[b, i, 64 + h * 16 + d]; v[b, h in 0..2, i, d in 0..16] = c[b, i, 32 + h * 16 + d];
  s[b, h, i, j] : f16 = sum(d) q[b, h, i, d] * k[b, h, j, d]; y[b, h, i, e] : f16 = sum(j) s[b, h, i, j] * v[b, h, j, e];
  loss = em_loss(y); output loss; output dw = grad(loss, w); output dx = grad(loss, x); }
model em_parts_rest { input x : f16[24, 40]; input w : f16[96, 40]; c = linear(x, w);
  q[i, d in 0..32] = c[i, d]; v[i, d in 0..32] = c[i, 64 + d]; s[i, j] : f16 = 0.01 * sum(d) q[i, d] * q[j, d]; y[i, e] : f16 = sum(j) s[i, j] * v[j, e];
  loss = em_loss(y); output loss; output dw = grad(loss, w); output dx = grad(loss, x); }
model em_parts_over { input x : f16[24, 40]; input w : f16[96, 40]; c = linear(x, w);
  q[i, d in 0..64] = c[i, d]; v[i, d in 0..64] = c[i, 32 + d]; s[i, j] : f16 = 0.01 * sum(d) q[i, d] * q[j, d]; y[i, e] : f16 = sum(j) s[i, j] * v[j, e];
  loss = em_loss(y); output loss; output dw = grad(loss, w); output dx = grad(loss, x); }
