// A fastest index of 3, 5 or 7: vectors go along the one before it. Colours, crosses and turned points; sums of each; results of several types; ragged rows; and where the others lie apart.
model sh_colours { input x : u8[3, 18, 16, 3]; param m : f32[3]; param s : f32[3]; output y[n, i, j, c] : f16 = (x[n, i, j, c] / 255.0 - m[c]) * s[c]; output z[n, i, j, c] : i8 = x[n, i, j, c] - 128; output w[n, i, j, c in 0..3] = x[n, i, j, 2 - c]; }
model sh_cross { input a : f32[737, 3]; input b : f32[737, 3]; output y[n, i in 0..3] = a[n, (i + 1) % 3] * b[n, (i + 2) % 3] - a[n, (i + 2) % 3] * b[n, (i + 1) % 3]; }
model sh_turned { input p : f32[2, 400, 3]; input m : f32[2, 3, 4]; output y[b, n, i] = m[b, i, 3] + sum(k in 0..3) p[b, n, k] * m[b, i, k]; }
model sh_choice { input a : f16[640]; input b : bf16[640]; output y[n, c in 0..5] : f32 = c == 0 ? a[n] : c < 3 ? b[n] * c : exp(a[n]) - c; }
model sh_gathered { input a : f16[20, 7]; input i : i32[304] in 0..20; output y[n, c] : f16 = a[i[n], c] * 2; output s[n] : f32 = sum(c) a[i[n], c]; }
model sh_shared { input a : f32[3, 240, 3]; e[n, j, c] = exp(a[n, j, c]); output y[n, j, c] = e[n, j, c] / (1 + a[n, j, 0] * a[n, j, 0]); output z[n, c, j] = e[n, j, c]; }
