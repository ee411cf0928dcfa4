model a { input x : f32[4]; output y = x; }
model b { input x : f32[4]; output y = a(x); }
