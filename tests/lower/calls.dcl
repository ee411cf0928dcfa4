// signatures against arguments
model calls {
  input x : f16[2, 8, 16, 16];
  input m : f16[4, 32];
  input s : f16[3, 32, 5];
  param w : f16[6, 8, 3, 3];
  param v : f16[10, 31];
  param u : f32[10, 32];
  a = conv2d(m, w);
  b = conv2d(x, w, groups = 2);
  d = linear(m, v);
  e = linear(m, u);
  f = softmax(x, axis = 4);
  h = max_pool(x, kernel = 17);
  i = matmul(m, m);
  j = group_norm(x, groups = 3);
  output y = x;
}
