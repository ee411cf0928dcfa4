// params, paths, states
block lin(x: T[D]; out = 4) -> y {
  param w : T[out, D] = "weight";
  y = linear(x, w);
}
block memory(x: T[D]) -> y {
  state s : T[D];
  s[i] = s[i] + x[i];
  y = s + 0;
}
block deep(x: T[D]; n) -> y { if (n == 0) { y = x + 1; } else { z = lin(x) as "{n}"; } }
block twice(x: T[D]) -> y { a = lin(x); y = lin(a); }
model blocks {
  input x : f32[4];
  c = lin(x) as "tied";
  d = lin(x, out = 5) as "tied";
  f = memory(x) as "m";
  g = memory(x) as "m";
  i = deep(x, n = 1);
  h = twice(x);
  for l in 0..3 { j = lin(x) as "j.{l}"; k = j + 1; }
  y[i] = memory(x[i]);
  output o = x;
}
