dim B = 3;
model m { input x : f32[4]; output y = x; }
