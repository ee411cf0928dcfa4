// Products of a loop's steps are one (rewrite/steps.h): a weight's gradient, what a signal's steps are multiplied with, and what
// comes back to it; a signal that each step takes its own row of, or that is read in place; bidirectional; tied weights.
model st_lstm { dim T = 6; dim B = 3; dim D = 24; dim H = 16; input e : f16[T, B, D]; input tt : f16[T, B, H]; param w : f16[4 * H, D]; param u : f16[4 * H, H];
  h : f16[B, H] = 0; c : f32[B, H] = 0;
  for s in 0..T {
    z[n, j] : f32 = sum(k) e[s, n, k] * w[j, k] + (sum(k) h[n, k] * u[j, k]);
    c[b, j in 0..H] : f32 = sigmoid(z[b, H + j]) * c[b, j] + sigmoid(z[b, j]) * tanh(z[b, 2 * H + j]);
    h[b, j in 0..H] : f16 = sigmoid(z[b, 3 * H + j]) * tanh(c[b, j]);
    hs[b, s, j] = h[b, j];
  }
  loss[] : f32 = sum(s, b, j) (hs[b, s, j] - tt[s, b, j]) * (hs[b, s, j] - tt[s, b, j]);
  output loss; output dw = grad(loss, w); output du = grad(loss, u); output de = grad(loss, e); }
model st_rows { dim T = 5; dim B = 2; dim D = 40; input x : f32[B, T, D]; param w : f32[32, D]; param v : f32[32, 32]; a : f32[B, 32] = 0.5;
  e = tanh(x); y : f32[T, B, 32] = 0;
  for s in 0..T { r[b, d] = e[b, T - 1 - s, d]; a = tanh(linear(r, w) + linear(a, v)); y[s, b, j] = a[b, j]; }
  loss[] = sum(s, b, j) y[s, b, j] * y[s, b, j];
  output loss; output dw = grad(loss, w); output dv = grad(loss, v); output dx = grad(loss, x); }
model st_both { dim T = 5; input x : f32[T, 2, 24]; param w : f32[24, 24]; param v : f32[24, 24]; p : f32[2, 24] = 0; q : f32[2, 24] = 0;
  for s in 0..T { a[b, d] = x[s, b, d]; p = tanh(linear(a, w) + p); y[s, b, j] = p[b, j]; }
  for s in 0..T { a[b, d] = x[T - 1 - s, b, d]; q = tanh(linear(a, w) * 0.5 + linear(q, v)); z[T - 1 - s, b, j] = q[b, j]; }
  loss[] = sum(s, b, j) y[s, b, j] * z[s, b, j]; output loss; output dw = grad(loss, w); output dv = grad(loss, v); output dx = grad(loss, x); }
model st_layers { dim T = 5; input x : f32[T, 2, 24]; param w : f32[2, 24, 24]; param v : f32[2, 24, 24]; h = x + 0;
  for l in 0..2 { m[i, j] = w[l, i, j]; n[i, j] = v[l, i, j]; c : f32[2, 24] = 0;
    for s in 0..T { a[b, d] = h[s, b, d]; c = tanh(linear(a, m) + linear(c, n)); k[s, b, j] = c[b, j]; } h = k + 0; }
  loss[] = sum(s, b, j) h[s, b, j] * h[s, b, j]; output loss; output dw = grad(loss, w); output dv = grad(loss, v); output dx = grad(loss, x); }
model st_dependent { dim T = 6; input x : f32[2, 24]; param w : f32[24, 24]; y = x + 0;
  for s in 0..T { y = tanh(linear(y, w)); } loss[] = sum(b, j) y[b, j]; output loss; output dw = grad(loss, w); }
model st_twice { dim T = 5; input x : f32[T, 3, 24]; param w : f32[24, 24]; s : f32[3, 24] = 0;
  for t in 0..T { z[b, j] = sum(k) x[t, b, k] * w[j, k]; s = s + z + max(z, 0.0); } output y = s; output d = grad(square_sum(s), w); }
