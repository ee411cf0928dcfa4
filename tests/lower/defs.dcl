// defining again, and what compile-time choices leave undefined
op none(x: T[N]; n = 1) -> y { if (n == 0) { y = x; } }
op twice(x: T[N]; n = 1) -> y { if (n > 0) { y = x + 1; } if (n > 1) { y = x + 2; } }
model defs {
  dim N = 4;
  input x : f32[N];
  e = none(x);
  f = twice(x, n = 2);
  g = twice(x, n = 1);
  for i in 0..2 { a = x + i; }
  if (N > 4) { b = x; }
  c = b + 1;
  h = x + 1;
  v : f32[5] = 0;
  k[i] = v[i] + h[i];
  h = k;
  output d = x;
}
