// Chains whose intermediates may lie in any order: --random-plan draws one.
// A seed may put the batch fastest.
model ly_few_channels { input x : f16[8, 3, 16, 16]; param w : f16[32, 3, 3, 3]; param b : f16[32]; param g : f16[32]; param s : f16[32]; param v : f16[8, 32, 3, 3];
  h = conv2d(x, w, b, pad = 1); n = silu(group_norm(h, g, s, groups = 8)); d = conv2d(n, v, pad = 1); output y = concat(h, d, axis = 1); }
model ly_few_channels_1d { input x : f16[1, 2, 61]; param w : f16[16, 2, 5];
  @nofuse h = conv1d(x, w, pad = 2); output y[n, k] = sum(q) h[n, k, q] / 61; }
model ly_linear { input x : f16[4, 24, 64]; param w : f16[48, 64]; param v : f16[64, 48];
  @nofuse a = x * 0.5; @nofuse h = relu(linear(a, w)); @nofuse z = linear(h, v) + a; output y = z * 2; }
model ly_conv { input x : f16[4, 16, 8, 8]; param w : f16[32, 16, 3, 3]; param b : f16[32]; param v : f16[64, 32, 1, 1];
  @nofuse a = x + 1; @nofuse h = relu(conv2d(a, w, b, pad = 1)); @nofuse z = conv2d(h, v); output y = max_pool(z, kernel = 2); }
model ly_depthwise { input x : f16[2, 16, 9, 12]; param w : f16[16, 1, 3, 3];
  @nofuse a = x * 2; @nofuse h = conv2d(a, w, pad = 1, groups = 16); @nofuse p = avg_pool(h, kernel = 3, stride = 2, pad = 1); output y = p + 1; }
model ly_rows { input x : f16[8, 24, 40]; param g : f16[40];
  @nofuse a = x * 3; @nofuse s = softmax(a, axis = 1); @nofuse n = layer_norm(s + a, g); output y[b, j] = max(i) n[b, i, j]; }
model ly_few { input x : f16[4, 128]; param w : f16[96, 128]; param v : f16[128, 96];
  @nofuse a = x * 0.5; @nofuse h = tanh(linear(a, w)); @nofuse z = linear(h, v); output y = z + a; }
model ly_f32 { input x : f32[3, 20, 32]; param w : f32[24, 32]; param v : f32[2, 3, 24, 16];
  @nofuse a = x + 0.5; @nofuse h = linear(a, w); @nofuse z[b, c, i, j] = sum(k) h[c, i, k] * v[b, c, k, j]; output y = z / 5; }
model ly_heads { input x : bf16[2, 16, 3, 64]; param w : bf16[64, 64];
  @nofuse q[b, h in 0..4, t, d in 0..16] = x[b, t, 0, h * 16 + d]; @nofuse k[b, h in 0..4, t, d in 0..16] = x[b, t, 1, h * 16 + d];
  @nofuse s[b, h, i, j] = sum(d) q[b, h, i, d] * k[b, h, j, d] / 8; @nofuse p = softmax(s);
  @nofuse o[b, t, e in 0..64] = sum(j) p[b, e / 16, t, j] * x[b, j, 2, e]; output y = linear(o, w); }
model ly_i8 { input x : i8[8, 32, 20]; param w : i8[16, 32];
  @nofuse a[b, i, k] = i8(x[b, k, i]); @nofuse h[b, i, j] = sum(k) i32(a[b, i, k]) * i32(w[j, k]); output y = f32(h) * 0.01; }
model ly_made { input x : f16[2, 16, 6, 7]; param w : f16[32, 16, 3, 3]; param v : f16[16, 32, 3, 3]; param u : f16[16, 32, 3, 3];
  m[k] : f32 = mean(c, r, s) w[k, c, r, s]; z[k, c, r, s] : f16 = w[k, c, r, s] - m[k];
  @nofuse h = relu(conv2d(relu(x), z, pad = 1)); output y = conv2d(h, v, pad = 1); output t = relu(conv2d(h, u, pad = 1)); }
model ly_ragged { input x : f16[2, 84, 64]; param w : f16[72, 84]; param b : f16[72]; param v : bf16[84, 60]; param u : f32[42, 33]; input z : f32[5, 33];
  @nofuse n = x * 0.5; @nofuse h = gelu(linear(transpose(n, perm = [0, 2, 1]), w, b)); output y = transpose(h, perm = [0, 2, 1]);
  @nofuse t[b, i, d] : bf16 = x[b, i, d]; output o[b, d, j] = sum(i) t[b, i, d] * v[i, j]; output f = linear(z, u); }
