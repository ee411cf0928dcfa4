// attributes, and signatures against arguments once more
op half(x: T[N], w: T[N / 2]) -> y { y[i] = x[2 * i] * w[i]; }
model attributes {
  input x : f16[2, 8, 16, 16];
  input m : f16[4, 32];
  input s : f16[3, 32, 5];
  param w : f16[6, 8, 3, 3];
  param v : f16[10, 31];
  param u : f32[10, 32];
  k = gelu(x, approximate = "erf");
  l = slice(m, axis = 0, last = "x");
  o = split(m, parts = 5, part = 0);
  p = gelu(x, approximate = 1.5);
  q = max_pool(x, kernel = 0);
  r = matmul(x, s);
  t = softmax(1);
  n = conv_transpose2d(x, w, groups = 3);
  c = half(m, m);
  g = softmax(m, axis = 0.5);
  z = attention(m, m, m, mask = s);
  output y = x;
}
model strides {
  input x : f32[1, 4, 8, 8];
  input s : f32[1, 4, 8];
  param w : f32[4, 4, 3, 3];
  param v : f32[4, 4, 3];
  a = conv2d(x, w, stride = [1, 0]);
  b = conv1d(s, v, stride = 0);
  c = conv_transpose2d(x, w, stride = 0);
  d = max_pool(x, kernel = 2, stride = 0);
  e = avg_pool(x, kernel = 2, stride = [2, -1]);
  output y = x;
}
// one error: what follows from it is not told
model follow {
  input x : f32[1, 16, 8, 8];
  input s : f32[1, 16];
  param w : f32[16, 1, 3, 3];
  h = conv2d(x, w, groups = 15);
  z[n, c] = sum(p, q) h[n, c, p, q];
  output y[n, c] = z[n, c] * 2;
  output o[n, c] = z[n, c] * s[n, c];
}
