// Transposed convolutions and gradients of strided ones: sums of which a
// congruence leaves some terms, split into phases.

// 2x2, stride 2: a phase is a column of the product
model up2 {
  input x : f16[2, 6, 5, 16];  param w : f16[16, 8, 2, 2];  param b : f16[8];
  t[n, c, h, w] = x[n, h, w, c];
  output y = relu(conv_transpose2d(t, w, b, stride = 2));
}

// 4x4, stride 2, padded: a window for each phase, stored where it is inside
model up4 {
  type E = f16;
  input x : E[1, 5, 4, 32];  param w : E[32, 24, 4, 4];  param b : E[24];
  input r : E[1, 24, 10, 8];
  t[n, c, h, w] = x[n, h, w, c];
  y = relu(conv_transpose2d(t, w, b, stride = 2, pad = 1)) + r;
  output z[n, h, w, c] = y[n, c, h, w];
}

// 3x3, stride 2: phases with two taps and with one; extra rows behind
model up3 {
  input x : f32[1, 6, 4, 5];  param w : f32[6, 4, 3, 3];
  output y = conv_transpose2d(x, w, stride = 2, pad = 1, extra = 1);
}

// uneven strides, dilations and groups
model odd {
  input x : f32[2, 4, 5, 3];  param w : f32[4, 3, 5, 4];  param b : f32[6];
  output y = conv_transpose2d(x, w, b, stride = [3, 2], pad = [2, 1],
      dilation = [2, 3], groups = 2);
}

// a stride and a dilation that share a factor: rows without a term
model shared {
  input x : f32[1, 3, 4, 4];  param w : f32[3, 2, 3, 3];
  output y = conv_transpose2d(x, w, stride = 4, dilation = 2) + 1;
}

// fewer taps than phases
model sparse {
  input x : f32[2, 3, 4, 4];  param w : f32[3, 5, 1, 1];
  output y = conv_transpose2d(x, w, stride = 3);
}

// the data gradient of a strided convolution, in one dimension and in three
model gradient1 {
  dim P = 9;
  input d : f32[2, P, 6];  param w : f32[6, 4, 3];
  g[n, h in 0..2 * P, c] = sum(k, r)
      ((h + 1 - r) % 2 == 0 ? d[n, (h + 1 - r) / 2, k] or 0 : 0) * w[k, c, r];
  output y = g * 0.5;
}
model gradient3 {
  input d : f16[1, 3, 4, 3, 8];  param w : f16[8, 16, 2, 2, 2];
  output g[n, t in 0..6, h in 0..8, q in 0..6, c] = sum(k, a, r, s)
      ((t - a) % 2 == 0 && (h - r) % 2 == 0 && (q - s) % 2 == 0
          ? d[n, (t - a) / 2, (h - r) / 2, (q - s) / 2, k] or 0 : 0)
      * w[k, c, a, r, s];
}

// a part of a result: slices to their own tensors, a half, every second row
model parts {
  input x : f32[5, 8];  param w : f32[24, 8];  param v : f32[6, 24];
  c = linear(x, w);
  output q[i, j in 0..8] = c[i, j] * 2;
  output k[i, a in 0..2, b in 0..4] = relu(c[i, 8 + a * 4 + b]);
  output s[i in 0..2, j in 0..12] = c[2 * i + 1, 2 * j + 1] + v[2 * i + 1, j];
  output z = sum(linear(c, v));
}

// a strided convolution's data gradient: phases whose guards the results say, too
model sg_3x3 { dim B = 2; input x : f16[B, 8, 14, 12]; param w : f16[64, 8, 1, 1]; param u : f16[64, 64, 3, 3];
  input t : f16[B, 64, 7, 6]; input rate : f32;
  h = relu(conv2d(x, w)); y = conv2d(h, u, stride = 2, pad = 1);
  output loss = mse(y, t); for v in params { v = v - 0.001 * rate * grad(loss * 64, v); } }
model sg_both { dim B = 1; input x : f16[B, 8, 11, 13]; param w : f16[64, 8, 1, 1]; param u : f16[64, 64, 3, 3]; param d : f16[64, 64, 1, 1];
  input t : f16[B, 64, 6, 7]; input rate : f32;
  h = relu(conv2d(x, w)); y = conv2d(h, u, stride = 2, pad = 1) + conv2d(h, d, stride = 2);
  output loss = mse(y, t); for v in params { v = v - 0.001 * rate * grad(loss * 64, v); } }
model sg_two { dim B = 1; input x : f16[B, 8, 10, 12]; param w : f16[64, 8, 1, 1]; param u : f16[64, 64, 1, 1]; param d : f16[72, 64, 1, 1];
  input t : f16[B, 64, 10, 12]; input t2 : f16[B, 72, 10, 12]; input rate : f32;
  h = relu(conv2d(x, w)); y = conv2d(h, u); y2 = conv2d(h, d);
  output loss = mse(y, t) + mse(y2, t2); for v in params { v = v - 0.001 * rate * grad(loss * 64, v); } }

// phases of several taps and of fewer: each a product of its own, whose sum is
// over the taps that it has; with a pad that turns the phases round, and without
model taps2 {
  type E = f16;
  input x : E[2, 64, 7, 9];  param w : E[64, 32, 3, 3];  param b : E[32];
  output y = conv_transpose2d(x, w, b, stride = 2, pad = 1, extra = 1);
}
model taps2_bare {
  type E = f16;
  input x : E[1, 72, 5, 4];  param w : E[72, 40, 3, 5];
  output y = relu(conv_transpose2d(x, w, stride = 2));
}
// in one dimension, of a stride of 3; in three
model taps1 {
  type E = f16;
  input x : E[2, 64, 21];  param w : E[64, 48, 5];
  x4 = reshape(x, shape = [2, 64, 21, 1]);
  w4 = reshape(w, shape = [64, 48, 5, 1]);
  output y = conv_transpose2d(x4, w4, stride = [3, 1], pad = [1, 0]);
}
model taps3 {
  input d : f16[1, 3, 4, 3, 64];  param w : f16[64, 32, 3, 3, 3];
  output g[n, t in 0..6, h in 0..8, q in 0..6, c] = sum(k, a, r, s)
      ((t + 1 - a) % 2 == 0 && (h + 1 - r) % 2 == 0 && (q + 1 - s) % 2 == 0
          ? d[n, (t + 1 - a) / 2, (h + 1 - r) / 2, (q + 1 - s) / 2, k] or 0 : 0)
      * w[k, c, a, r, s];
}
// Weights of transposed convolutions: taps of one phase each, of unequal phases, with strides of their own, of groups
model wt_two { input x : f16[2, 16, 9, 7]; input r : f16[2, 8, 18, 14]; param w : f16[16, 8, 2, 2];
  y = conv_transpose2d(x, w, stride = 2); loss[] = sum(n, a, i, j) y[n, a, i, j] * f32(r[n, a, i, j]); output loss; output d = grad(loss, w); output e = grad(loss, x); }
model wt_four { input x : f16[2, 16, 9, 7]; input r : f16[2, 8, 18, 14]; param w : f16[16, 8, 4, 4];
  y = conv_transpose2d(x, w, stride = 2, pad = 1); loss[] = sum(n, a, i, j) y[n, a, i, j] * f32(r[n, a, i, j]); output loss; output d = grad(loss, w); output e = grad(loss, x); }
model wt_three { input x : f16[2, 16, 9, 7]; input r : f16[2, 8, 18, 14]; param w : f16[16, 8, 3, 3];
  y = conv_transpose2d(x, w, stride = 2, pad = 1, extra = 1); loss[] = sum(n, a, i, j) y[n, a, i, j] * f32(r[n, a, i, j]); output loss; output d = grad(loss, w); output e = grad(loss, x); }
model wt_uneven { input x : f32[2, 8, 5, 6]; input r : f32[2, 4, 16, 24]; param w : f32[4, 2, 5, 2]; param b : f32[4];
  v[c in 0..8, a, p, q] = w[c % 4, a, p, q] * (c + 1);
  y = conv_transpose2d(x, v, b, stride = [3, 4], pad = [1, 0], dilation = [1, 1], groups = 2, extra = [1, 2]); loss[] = sum(n, a, i, j) y[n, a, i, j] * r[n, a, i, j]; output loss; output d = grad(loss, w); output e = grad(loss, x); }
// Two variables of the result in one congruence: a checkerboard, and a gradient of a walk along two dimensions
model boards { input x : f32[9, 20]; param w : f32[12, 20]; input v : f32[9, 20]; param p : f32[16, 40];
  output y[i, j] = sum(k) ((i + j) % 2 == 0 ? x[i, k] * w[j, k] : 0);
  output z[i, j in 0..9] = sum(k) ((i - j) % 3 == 1 ? x[i, k] : 0) * v[j, k];
  output u[i, j in 0..9] = sum(k) ((2 * i + j + k) % 3 == 0 ? x[i, k] * v[j, k] : 0);
  t[i in 0..40, j in 0..3] = tanh(p[i % 16, i * 2] or 0); loss : f32 = square_sum(t); output g = grad(loss, p); }
// Terms that are not 0 where one of their reads is: beyond the longest phase's taps they are none
model taps_not_zero { input d : f32[17, 7]; input t : f32[17, 9];
  output g[i] = sum(j) ((j + i) % 3 == 0 ? d[i, j] + 1 : 0);
  output s[i] = sum(j in 0..7) ((j + i) % 3 == 0 ? (t[i, j] > 0 ? d[i, j] : 4) : 0);
  output q[i] = sum(j) ((j + i) % 3 == 0 ? exp(d[i, j]) / d[i, j] : 0);
  output u[i] = sum(j) ((j + i) % 3 == 0 ? d[i, j] * (t[i, j * 2 - 2] or 1) : 0);
  output v[i] = sum(j, r in 0..17) ((j + i) % 3 == 0 ? d[i, j] * (t[r, j * 2 - 2] or 1) : 0); }
