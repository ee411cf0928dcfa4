op f(x: T[A.., B..]) -> y { y[A..] = x[A.., ..]; }
op g(x: T[.., ..]) -> y { y[..] = x[..]; }
op h(x: T[N, ..]) -> y { y[n] = x[n, ..]; z[.., ..] = 1; }
op k(x: T[.., D @ axes]; axis = -1) -> y: T[D @ axis] { y[..] = sum(..) x[.., 0]; }
model m { input x : f32[4]; y[..] = x[..]; output y; }
