// Numbers drawn: uniform ones as they are, dropout, a state that counts, the
// same draw in two places.
model random_values {
  input n : i32 in 0..1000;
  input x : f32[5, 1, 77];
  input s : f32;
  u = random(n, x);
  v = random(n, x);
  w = random(n + 1, s);
  output a[i, j, k] = u[i, j, k] + 0 * x[i, j, k];
  output b[i, j, k] = v[i, j, k] - u[i, 0, 76 - k];
  output c[i] = sum(j, k) u[i, j, k];
  output d[] = w * 2;
}
model random_dropout {
  type E = f16;
  state n : i32;
  input x : E[6, 40];
  param w : E[32, 40];
  n[] = n + 1;
  h = dropout(x, n, p = 0.3);
  output y = dropout(linear(h, w), n);
  output z = dropout(x, n, train = false);
}
model random_gradient {
  state n : i32 = 7;
  input x : f32[6, 40];
  param w : f32[32, 40];
  n[] = n + 1;
  h = dropout(relu(linear(dropout(x, n, p = 0.3), w)), n);
  loss[] = sum(i, j) h[i, j] * h[i, j];
  output g = grad(loss, w);
  output e = grad(loss, x);
}
