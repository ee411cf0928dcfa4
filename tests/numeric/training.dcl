// Training steps: gradients, parameters that a run writes, second derivatives.

// all that a small network needs, one update
model tr_mlp {
  dim B = 9;
  type E = f32;
  input x : E[B, 13];
  input t : i32[B] in 0..5;
  input lr : f32;
  param w1 : E[7, 13];
  param b1 : E[7];
  param w2 : E[5, 7];
  z = linear(relu(linear(x, w1, b1)), w2);
  p = log_softmax(z);
  loss[] : f32 = -sum(b) f32(p[b, t[b]]) / B;
  for w in params { w = w - lr * grad(loss, w); }
  output loss;
}

// f32 masters behind f16 parameters, which are read below as well
block tr_momentum(w: T[..], g: T[..], lr: f32) -> y {
  state m : f32[..];
  m[..] = 0.9 * m[..] + g[..];
  y[..] = w[..] - lr * m[..];
}
model tr_half {
  input x : f16[4, 16];
  input lr : f32;
  param w : f16[8, 16] = "half.weight";
  param frozen : f16[8];
  y = tanh(linear(x, w, frozen));
  loss[] : f32 = sum(i, j) f32(y[i, j]) * y[i, j] / 32;
  for v in params {
    if ("{v}" != "frozen") { v = tr_momentum(v, grad(loss, v), lr) as "m.{v}"; }
  }
  output loss;
  output after[i, j] = w[i, j] * 2;
}

// roundings of masters that one launch makes; behind some of them is padding
model tr_copies {
  input x : f16[20, 40];
  input lr : f32;
  param w : f16[72, 40];
  param g : f16[72];
  param v : f16[24, 72];
  param odd : f16[24, 9];
  y = linear(tanh(linear(x, w)) * g, v);
  z[i, j] = sum(k) tanh(y[i, k]) * odd[k, j];
  loss[] : f32 = sum(i, j) f32(z[i, j]) * z[i, j] / 1000;
  for u in params { u = u - lr * grad(loss, u); }
  output loss;
}

// a convolution with a stride, a pool, a norm over columns
model tr_conv {
  input x : f32[2, 3, 9, 10];
  param w : f32[4, 3, 3, 3];
  param g : f32[4];
  param b : f32[4];
  c = conv2d(x, w, stride = 2, pad = 1);
  m[k] : f32 = mean(n, p, q) c[n, k, p, q];
  v[k] : f32 = mean(n, p, q) (c[n, k, p, q] - m[k]) * (c[n, k, p, q] - m[k]);
  y = max_pool(relu(batch_norm(c, g, b, m, v)), kernel = 2);
  loss[] = sum(n, k, p, q) y[n, k, p, q] * y[n, k, p, q];
  for u in params { u = u - 0.01 * grad(loss, u); }
  output loss;
  output dx = grad(loss, x);
}

// a table, tied to the last product
model tr_tied {
  input ids : i32[6] in 0..11;
  param e : f32[11, 8];
  h = embedding(ids, e);
  z = linear(tanh(h), e);
  loss[] = mean(i, v) z[i, v] * z[i, v];
  for u in params {
    if (rank(u) > 1) { u = u - 0.1 * grad(loss, u); }
  }
  output loss;
}

// the gradient of a gradient, and what no gradient passes
model tr_second {
  input x : f32[5];
  input s : f32[5];
  a[] = sum(i) x[i] * x[i] * x[i] + sum(i) exp(s[i]) * stop(x[i]);
  g = grad(a, x);
  b[] = sum(i) g[i] * g[i] * s[i];
  output h = grad(b, x);
  output k = grad(b, s);
  output d = grad(a, s);
}

// products, minima, ties, states and a window that is clamped
model tr_mixed {
  input x : f32[4, 6];
  input n : i32[4] in 0..6;
  state k : f32[4, 6];
  k[i, n[i]] = x[i, 0] * x[i, 1];
  p[i] = prod(j) (x[i, j] + 2);
  m[i] = min(j in 0..6) x[i, max(j - 1, 0)];
  q[i, j] = x[i, j] > 0 ? log(x[i, j]) : 0;
  y[i, j] = p[i] * m[i] + q[i, j] * k[i, j] + fmod(x[i, j], 0.7);
  loss[] = sum(i, j) y[i, j] * (i + j);
  output g = grad(loss, x);
}

// A gradient that another one needs stands behind the update of what both read.
model tr_batch_norm {
  input x : f32[4, 2, 5, 5];
  param w : f32[6, 2, 3, 3] = "w" or kaiming();
  param g : f32[6] = "bn.weight" or ones;
  param b : f32[6] = "bn.bias" or zeros;
  h = batch_norm_train(conv2d(x, w, pad = 1), g, b) as "bn";
  output loss[] = mean(i, c, p, q) (h[i, c, p, q] - x[i, 0, p, q]) * (h[i, c, p, q] - x[i, 0, p, q]);
  for v in params { v = sgd(v, grad(loss, v), 0.1, momentum = 0.9) as "sgd.{v}"; }
}
// Rows of classes that end inside a vector: whole ones are read and written, at any class.
model entropy_131 {
  input x : f16[40, 72];
  input t : i32[40] in 0..131;
  input rate : f32;
  param w : f16[131, 72];
  loss = cross_entropy(linear(x, w), t);
  for v in params { v = v - rate * grad(loss, v); }
  output loss;
}
// a weight of many readers: their sums are added as they come
model tr_recurrent { input x : f16[3, 6, 5]; input t : f16[3, 7]; param w : f16[7, 5]; param u : f16[7, 7]; param b : f16[7];
  h : f16[3, 7] = 0;
  for s in 0..6 { xs[n, k] = x[n, s, k]; h = tanh(linear(xs, w, b) + linear(h, u)) + b * 0.1; }
  loss = mse(h, t); output loss;
  for v in params { v = v - 0.1 * grad(loss, v); } }
// a mean of rows that its kernel rounds only to store them: their deviations are left out as the 0 that they add up to
model tr_deviations { dim B = 4; type E = bf16; input ids : i32[B, 5] in 0..17; input t : i32[B, 5] in 0..17; param e : E[17, 8]; param pe : E[5, 8];
  h0[b, s, d] = e[ids[b, s], d] + pe[s, d]; loss = cross_entropy(linear(layer_norm(h0), e), t);
  for v in params { v = v - 0.1 * grad(loss, v); } output loss; }

// updates of weights that run beside the rest of the step
block tr_dense(x: T[n, d]) -> y {
  param w : f16[d, d];
  y = tanh(linear(x, w));
}
model tr_beside {
  input z : f16[96, 256];
  input lr : f32;
  x = z;
  for l in 0..10 { x = tr_dense(x) as "h.{l}"; }
  loss[] : f32 = sum(i, j) f32(x[i, j]) * x[i, j] / 1000;
  for u in params { u = u - lr * grad(loss, u); }
  output loss;
}

// a key that is trained: its gradient is not rounded, and no key's is far below others'
op tr_loss(y: T[..]) -> s: f32 { u = random(7, y); s[] = sum(..) f32(y[..]) * (u[..] - 0.5); }
model tr_key { input q : f16[2, 2, 128, 64]; param k : f16[2, 2, 192, 64]; input v : f16[2, 2, 192, 64]; input b : f32[192];
  s[b, h, i, j] : f32 = (sum(d) q[b, h, i, d] * k[b, h, j, d]) * 0.1 + b[j] - 25.0 * (j == 3); p : f16 = softmax(s);
  y[b, h, i, e] : f16 = sum(j) p[b, h, i, j] * v[b, h, j, e];
  loss = tr_loss(y); output loss; for w in params { g = grad(loss, w); w = w - 0.1 * g; output step[h, j, d] = sum(b) g[b, h, j, d]; } }
