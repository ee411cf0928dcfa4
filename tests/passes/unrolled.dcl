// Five steps of a loop: their input's product with a weight is one, as is what
// comes back to it, and the gradient of each weight is one sum.
model unrolled {
  input x : f32[2, 5, 40];
  param w : f32[32, 40];
  param v : f32[32, 32];
  a : f32[2, 32] = 0.5;
  e = tanh(x);
  for s in 0..5 {
    r[b, d] = e[b, 4 - s, d];
    a = tanh(linear(r, w) + linear(a, v));
    y[s, b, j] = a[b, j];
  }
  loss[] = sum(s, b, j) y[s, b, j] * y[s, b, j];
  output dw = grad(loss, w);
  output dv = grad(loss, v);
  output dx = grad(loss, x);
}
