op f(x: T[N]; k = 2) -> y {
  x = x * 2;
  N = 3;
  k = 4;
  y = x;
}
model m { input x : f32[4]; output y = f(x); }
