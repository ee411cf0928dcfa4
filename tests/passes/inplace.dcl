// State whose old elements other points still need is written by way of a temporary.
model shift { input x : f32[4]; state h : f32[6, 4]; h[i, d] = i < 5 ? (h[i + 1, d] or 0) : x[d]; output y = h + 1; }
model same { input x : f32[4]; state h : f32[4]; h = h * 0.5 + x; output y = h + 1; }
model row { input x : f32[4]; input p : i32 in 0..6; state h : f32[6, 4]; h[p, d] = x[d]; output y = h + 1; }
