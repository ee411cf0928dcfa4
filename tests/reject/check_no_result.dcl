op f(x: T[..]) -> y { z = x; }
model m { input x : f32[4]; output y = f(x); }
