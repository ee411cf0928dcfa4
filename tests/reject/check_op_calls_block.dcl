block g(x: T[N]) -> y { param w : T[N]; y = x * w; }
op f(x: T[N]) -> y { y = g(x); }
model m { input x : f32[4]; output y = f(x); }
