// Grouped convolutions of few channels a group: neighbouring groups are one
// product, whose weights are 0 from one to another.

// 16 groups of 4 become one; of 8, of which 7 fill a row of 64 but do not divide
model gr_4 { type E = f16; input x : E[4, 64, 12, 13]; param w : E[64, 4, 3, 3]; param b : E[64];
  output y = relu(conv2d(x, w, b, pad = 1, groups = 16)); }
model gr_8 { type E = f16; input x : E[2, 80, 17, 18]; param w : E[160, 8, 3, 2]; param b : E[160];
  output y = conv2d(x, w, b, stride = [1, 1], pad = [0, 1], groups = 10); }
// as channels lie fastest; a stride; bf16; the result goes on
model gr_last { type E = bf16; input x : E[3, 16, 18, 64]; param w : E[32, 16, 3, 3]; param v : E[32, 32, 1, 1];
  t = transpose(x, perm = [0, 3, 1, 2]);
  h = relu(conv2d(t, w, stride = 1, pad = 1, groups = 4)) as "h";
  output y = transpose(conv2d(h, v), perm = [0, 2, 3, 1]); }
model gr_stride { type E = f16; input x : E[8, 96, 17, 19]; param w : E[96, 12, 3, 3];
  output y = conv2d(x, w, stride = 2, pad = 1, dilation = 2, groups = 8); }
// three dimensions, one; f32, which is not joined
model gr_3 { type E = f16; input x : E[2, 32, 4, 8, 9]; param w : E[32, 8, 3, 3, 3];
  output y = conv3d(x, w, pad = 1, groups = 4); }
model gr_1 { type E = f16; input x : E[4, 64, 150]; param w : E[64, 32, 5];
  output y = conv1d(x, w, pad = 2, groups = 2); }
model gr_f32 { input x : f32[1, 16, 17, 16]; param w : f32[16, 4, 3, 3];
  output y = conv2d(x, w, pad = 1, groups = 4); }
// a product of its own for each head
model gr_heads { type E = f16; input x : E[600, 8, 16]; param w : E[8, 16, 24];
  output y[n, h, j] = sum(i) x[n, h, i] * w[h, i, j]; }
// what is infinite or NaN is of its own group alone, also in gradients
model gr_not_finite { type E = f16; input z : E[2, 32, 16, 17]; param w : E[32, 4, 3, 3];
  x[n, c, p, q] : E = c == 13 && p == 5 && q % 7 == 3 ? inf : c == 6 && p == 9 ? log(-1.0 - z[n, c, p, q] * z[n, c, p, q]) : z[n, c, p, q];
  y : f32 = conv2d(x, w, pad = 1, groups = 8);
  output o = min(max(y, -1e6), 1e6); }
model gr_gradient_not_finite { type E = f16; input x : E[3, 32, 14, 15]; param w : E[48, 8, 3, 3]; input z : E[3, 48, 14, 15];
  r[n, k, p, q] : f32 = k % 12 == 5 && p == 3 && q == 2 ? inf : k == 30 ? log(-1.0 - z[n, k, p, q] * z[n, k, p, q]) : z[n, k, p, q];
  y = conv2d(x, w, pad = 1, groups = 4);
  loss[] : f32 = sum(n, k, p, q) f32(y[n, k, p, q]) * r[n, k, p, q];
  d = grad(loss, x);
  output o = min(max(d, -1e6), 1e6); }
// in a step that trains them: forward and the data's gradient, of small groups
// and of ragged ones
model step_groups {
  dim B = 2;  input x : f16[B, 8, 17, 16];  param e : f16[64, 8, 1, 1];
  param w : f16[64, 8, 3, 3];  param v : f16[48, 8, 1, 3];  param b : f16[48];
  input t : f16[B, 48, 17, 16];
  h = relu(conv2d(x, e));
  h = conv2d(relu(conv2d(h, w, pad = 1, groups = 8)), v, b, pad = [0, 1], groups = 8);
  output loss = mse(h, t);
  for p in params { p = p - 0.01 * grad(loss * 64, p); }
}
