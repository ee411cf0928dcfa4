op f(x: T[N, M]) -> y: T[N, M] { y[i] = x[i, 0]; }
model m { input x : f32[4, 5]; output y = f(x); }
