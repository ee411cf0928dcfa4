// packs that broadcast, parameters left out, axes
op add3(a: T[..], b: T[..], c: T[..] = 0) -> y: T[..] { y[..] = a[..] + b[..] * c[..]; }
op rows(x: T[A.., D @ axis, B..]; axis = 0) -> y { y[A.., d, B..] = x[A.., d, B..] - sum(k) x[A.., k, B..]; }
op fill(x: T; shape[]) -> y: T[shape..] { y[shape..] = x; }
op ones(n: T[shape..]; shape[]) -> y { y[shape..] = n[shape..] + 1; }
model broadcast {
  input x : f32[2, 3, 4];
  input y : f32[3, 1];
  input z : f32[4];
  a = add3(x, y);
  b = add3(y, x, z);
  c = matmul(x, transpose(x, perm = [0, 2, 1]));
  d = matmul(a, fill(2.0, shape = [4, 5]));
  e = rows(x, axis = 1);
  f = x * y + z;
  g = ones(z, shape = [4]);
  h : f16[2, 2] = 0.1;
  output a; output b; output c; output d; output e; output f; output g; output h;
  output k = attention(x, x, x, causal = true);
}
