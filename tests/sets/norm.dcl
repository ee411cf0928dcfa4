// The small size takes its norm in the product that follows; the large one may
// not, and has the same weights.
model net {
  dim B in {2, 8};  dim D = 192;  type E = f16;
  input x : E[B, 64, D];
  param w0 : E[D, D];      param b0 : E[D];
  param g : E[D];          param b : E[D];
  param w1 : E[2 * D, D];  param b1 : E[2 * D];
  param w2 : E[D, 2 * D];  param b2 : E[D];
  param w3 : E[4 * D, D];  param w4 : E[D, 4 * D];
  if (B > 4) {
    @nofuse
    h = x + linear(x, w0, b0);
  } else {
    h = x + linear(x, w0, b0);
  }
  n = layer_norm(h, g, b, eps = 1e-5);
  f = gelu(linear(n, w1, b1));
  u = n + linear(f, w2, b2);
  output y = linear(gelu(linear(u, w3)), w4);
}
