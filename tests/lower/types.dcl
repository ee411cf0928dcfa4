// element types and what an index may be
op same(x: T[N], y: T[N]) -> z: T[N] { z[i] = x[i] + y[i]; }
op count(x: i32[N]) -> z { z[] = sum(i) x[i]; }
op scaled(x: T[N], s: i32) -> z { z[i] = x[i] * s; }
model types {
  input x : f32[8];
  input h : f16[8];
  input k : i32[8];
  a = same(x, h);
  b = count(x);
  c[i in 0..8] = x[x[i]];
  d[i in 0..2, j in 0..2] = x[i * j];
  e[i] = x[i] % 2;
  f[i] = x[i > 2 ? 1 : 0] + h[i];
  g = scaled(x, 0.5);
  l = same(x, k);
  m = count(k) + count(b);
  output o = x;
}
