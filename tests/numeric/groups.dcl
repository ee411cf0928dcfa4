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
