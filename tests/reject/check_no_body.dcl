op f(x: T[..]) -> y;
model m { input x : f32[4]; output y = f(x); }
