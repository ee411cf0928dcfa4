block b(x: T[D]) -> y {
  param v : T[D];
  y = x * v;
  for w in params { w = w * 2; }
}
model m { input x : f32[4]; output y = b(x); }
model n {
  input x : f32[4];
  param w : f32[4];
  y[i] = x[i] * w[i];
  w = y;
  output y;
}
