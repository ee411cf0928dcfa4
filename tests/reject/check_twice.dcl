op f(x: T[..]) -> y { y = x; }
block f(x: T[..]) -> y { y = x; }
model m { input x : f32[4]; output y = f(x); }
model m { input x : f32[4]; output y = f(x); }
