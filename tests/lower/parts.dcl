// Definitions of parts: what may be wrong with them
model gap { input x : f32[3]; input z : f16[3]; t[0, i] = x[i]; t[2, i] = z[i]; output y = t; }
model stride { input x : f32[3]; t[2 * i] = x[i]; output y = t; }
model twice { input x : f32[3]; t[i] = x[i]; t[2] = x[0]; output y = t; }
model overlap_part { input x : f32[3]; t : f32[9] = 0; t[i in 0..3] = x[i]; t[2 * i] = x[i]; output y = t; }
model fold { input x : f32[4]; t[i / 2] = x[i]; output y = t; }
model sums { input x : f32[4, 4]; t : f32[7] = 0; t[i + j] = x[i, j]; output y = t; }
model outside { input x : f32[4]; t[i - 1] = x[i]; output y = t; }
model beyond { input x : f32[4]; t : f32[6] = 0; t[2 * i] = x[i]; output y = t; }
model unknown { input x : f32[4]; t : f32[6] = 0; t[2 * i] = x[0]; output y = t; }
model ranks { input x : f32[4]; t[0, i] = x[i]; t[1, i, 0] = x[i]; output y = t; }
model shapes { input x : f32[4]; t[0, i] : f32[2, 4] = x[i]; t[1, i] : f32[3, 4] = x[i]; output y = t; }
model between { input x : f32[4]; t[0] = x[0]; t[1] = t[0]; output y = t; }
model none { input ids : i32[4]; input x : f32[4]; t[ids[i]] = x[i]; output y = t; }
model range { input x : f32[4]; t : f32[6] = 0; t[i in 4..4] = x[0]; u : f32[6] = 0; u[i in 0 - 2..2] = x[0]; output y = t; }
model of_state { input x : f32[4]; state k : f32[3]; k[i / 2] = x[i]; output y = k; }
model inner { input p : i32[9]; input x : f32[4]; t : f32[4] = 0; t[p[i] + i] = x[i]; output y = t; }
