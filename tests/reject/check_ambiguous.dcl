block f(x: T[D]; w) -> y {
  param w : T[D];
  y = x * w;
}
model m { input x : f32[4]; output y = f(x, w = 3); }
