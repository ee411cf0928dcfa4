model m {
  input x : f32[4];
  param n : i8[4];
  param w : f32[4];
  param other : f32[4];
  loss[] = sum(i) x[i] * w[i] * n[i];
  y[i] = other[i] * x[i];
  k[] = sum(i) i32(x[i]);
  s[] = sum(i) lgamma(x[i]);
  output a = grad(loss, other);
  output b = grad(y, x);
  output c = grad(loss, n);
  output d = grad(k, x);
  output e = grad(s, x);
  output f[i] = grad(loss, x[i]);
}
