// paths, tied weights, load-time statements, notes, -D
block lin(x: T[.., D]; out = D, bias = true) -> y {
  param w : T[out, D] = "weight";
  if (bias) { param b : T[out] = "bias"; y = linear(x, w, b * 2); } else { y = linear(x, w); }
}
block pair(x: T[B, D]) -> y { y = lin(lin(x) as "0") as "1"; }
model weights {
  dim B = 2;  dim H = 4;  type E = f32;
  input x : E[B, H];
  param t : E[H, H] = "table";
  s[j] = exp(t[0, j]) + 1;                      // at load
  v = x;
  for l in 0..2 { @nofuse x1 = pair[l](v * s); v = x1 + linear(x1, t); }
  h = pair(v) as "";
  k = pair(h) as "";
  output y1 = lin(k, out = 3, bias = false) as "head.{H / 2}";
}
