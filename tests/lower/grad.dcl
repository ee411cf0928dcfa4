model m {
  input x : f32[4];
  param n : i8[4];
  param w : f32[4];
  param other : f32[4];
  loss[] = sum(i) x[i] * w[i] * n[i];
  y[i] = other[i] * x[i];
  k[] = sum(i) i32(x[i]);
  p[m, n1, n2, n3, n4] = prod(r, r1, r2, r3) x[m] * x[n1] * x[n2] * x[n3] * x[n4] * x[r] * x[r1] * x[r2] * x[r3];
  s[] = sum(m, n1, n2, n3, n4) p[m, n1, n2, n3, n4];
  output a = grad(loss, other);
  output b = grad(y, x);
  output c = grad(loss, n);
  output d = grad(k, x);
  output e = grad(s, x);
  output f[i] = grad(loss, x[i]);
  output h = grad(loss, w * 2);
}
