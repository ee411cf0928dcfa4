op f(x: T[N]) -> y {
  input a : T[N];
  param w : T[N];
  state s : T[N];
  output y = x;
}
block g(x: T[N]) -> y {
  input a : T[N];
  param w : T[N];
  state s : T[N];
  y = x * w + s;
}
model m { input x : f32[4]; output y = f(g(x)); }
