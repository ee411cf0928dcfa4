// Products over what no box of TMA has: a copy in order comes first where they
// are long enough, on a GPU whose launches and memory take nothing. Enlarged
// images, shifted windows, also of what else is read; and what stays gathered.
model st_up { type E = f16; input x : E[1, 16, 5, 6]; param w : E[40, 16, 3, 3]; param b : E[40];
  h = relu(x); output y = relu(conv2d(upsample(h), w, b, pad = 1)); }
model st_up3 { input x : bf16[2, 24, 3, 4]; param w : bf16[16, 24, 3, 3];
  output y = conv2d(upsample(x, scale = [3, 2]), w, pad = 1, stride = 2); }
model st_shift { type E = f16; input x : E[2, 16, 32]; param w : E[64, 32]; param g : E[32];
  n = rms_norm(x, g);
  u[b, a in 0..4, m in 0..4, c] = n[b, (a * 4 + m + 2) % 16, c];
  t = linear(u, w);
  output y[b, i in 0..16, c] = t[b, (i + 14) % 16 / 4, (i + 14) % 16 % 4, c]; }
model st_twice { input x : f16[1, 16, 6, 7]; param w : f16[24, 16, 3, 3]; param v : f16[40, 16, 1, 1];
  u = upsample(x); output y = conv2d(u, w, pad = 1); output z = conv2d(u, v); }
model st_beyond { input x : f16[40, 32]; param w : f16[64, 32];
  output y[i in 0..50, k] = sum(c) (x[(i + 3) / 2 - 2, c] or 0) * w[k, c]; }
model st_gathered { input x : f16[40, 32]; param w : f16[64, 32];
  output y[i in 0..40, k] = sum(c) x[(i + 3) / 2 + (i + 5) / 3, c] * w[k, c]; }
// a bias that lies by distance, and one of what parameters say, beside scores
model st_bias { type E = f16; input q : E[2, 2, 9, 16]; input v : E[2, 2, 9, 8]; param t : E[25, 2]; param u : i32[2, 9];
  s[b, h, i, j] : f32 = (sum(d) q[b, h, i, d] * q[b, h, j, d]) / 4 + t[(i / 3 - j / 3 + 2) * 5 + i % 3 - j % 3 + 2, h] + (u[b, i / 3 * 3] > u[0, j] ? 0.0 : -2.0);
  p : E = softmax(s); output y[b, h, i, d] = sum(j) p[b, h, i, j] * v[b, h, j, d]; }
