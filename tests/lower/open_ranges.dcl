// Ranges of reductions that depend on what is outside of them
model unbounded { input n : i32[4]; input x : f32[4, 9]; output y[i] = sum(k in 0..n[i]) x[i, k]; }
model beyond { input x : f32[9]; output y[i in 0..9] = sum(k in 0..i + 2) x[k]; }
model always_empty { input x : f32[9]; output y[i in 0..9] = sum(k in i..0) x[k]; }
model fraction { input x : f32[9]; output y[i] = sum(k in 0..x[i]) x[k]; }
