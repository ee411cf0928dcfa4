op f(x: T[N], x: T[N]; x = 3) -> y: T[M] { y = x; }
op g(x: T[C / groups]; groups = 1) -> x: U[C] { x = 3; }
op h(x: T[N]; a = b, b = 3, c[2] = [1, 2, 3], d = [1]) -> y { y = x; }
model m { input x : f32[4]; output y = x; }
