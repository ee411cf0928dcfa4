op f(x: T[N]; pad[2] = 0) -> y { y[i] = x[i + pad[0]] or pad; z[i] = pad[0] or 3; }
model m { input x : f32[4]; output y = f(x); }
