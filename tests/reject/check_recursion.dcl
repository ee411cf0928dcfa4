op f(x: T[..]) -> y { y = f(x); }
op g(x: T[..]) -> y { y = h(x); }
op h(x: T[..]) -> y { y = g(x); }
model m { input x : f32[4]; output y = f(x); }
