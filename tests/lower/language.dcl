// one of each: reductions, choices, attributes, a user's op that hides the library's
op relu(x: T[..]) -> y: T[..] { y[..] = x[..] > 0 ? x[..] : 0.1 * x[..]; }
op mode(x: T[N]; kind = "a", at[2] = 1, list[]) -> y: T[N] {
  if (kind == "a") { y[i] = x[i] * at[0]; }
  else if (kind == "b") { y[i] = x[i] * at[1] + list[0]; }
  else { y[i] = x[i] * (list[1] - at[0] > 2 ? 1 : -1); }
}
op norm2(x: T[.., D]) -> y: T[.., D] { y[.., d] = x[.., d] * rsqrt(sum(k) x[.., k] * x[.., k]); }
op total(x: T[A.., D @ axis, B..], w: T[D]; axis = -1) -> y { y[] = sum(A.., d, B..) x[A.., d, B..] * w[d]; }
op pairs(x: T[N]) -> y: f32[N, N] { y[i, j] = x[i] - x[j]; }
block scaled(x: T[.., D]; by = 2.0) -> y {
  type U = bf16;
  dim E = D * 2;
  param s : U[D] = "scale";
  y[.., e in 0..E] : U = x[.., e / 2] * s[e / 2] * by;
}
model language {
  dim B = 4;  dim D = 6;  type E = f16;
  input x : E[B, D];
  input m : bool[B];
  a = relu(x);
  row[j] = x[0, j];
  b = mode(row, list = [1, 2]) + mode(row, kind = "b", at = [1, 3], list = [0.5]) + mode(row, kind = "c", list = [0, 9]);
  c = norm2(x);
  d = total(x, row);
  e = pairs(row);
  f = scaled(x, by = 0.5) as "s.{B / 3}";
  output f;
  p[i] = prod(j in 1..3) x[i, j] + min(j) x[i, j] - max(j, k in 0..2) x[i, j] * x[k, j];
  q[i] = sum(j) x[i, j] * sum(k) x[k, j] / mean(n) x[n, 0] * 2;
  r[i, j] = m[i] && !(x[i, j] < 0 || x[i, j] > 1) ? (x[i - 1, j] or (x[i + 1, j] or -inf)) : -x[i, j];
  s[j, k] = sum(i) x[i, j] * (sum(n in 0..2) x[i, n] * x[n, k]);
  t[i] : i8 = argmax(j) x[i, j] - 1;
  if (B > 2 && D != 6) { u = x; } else { u = x * 2; }
  output a; output b; output c; output d; output e; output p; output q; output r; output s; output t; output u;
}
