// windows so large that one index is summed after the other, and long ones in parts
model wi_box { input x : f32[2, 3, 70, 72]; output y[n, c, i in 0..70, j in 0..72] = mean(r in 0..11, s in 0..11) x[n, c, i + r - 5, j + s - 5] or 0; }
model wi_box_max { input x : f16[2, 96, 97, 3]; output y[n, i in 0..90, j in 0..89, c] = max(r in 0..7, s in 0..9) x[n, i + r, j + s, c]; output z[n, i in 0..90, j in 0..89, c] = sum(r in 0..7, s in 0..9) abs(x[n, i + r, j + s, c] - x[n, 0, 0, c]); }
model wi_long { input x : f16[5, 4000]; output y[i, j in 0..3873] = sum(k in 0..128) x[i, j + k]; output z[i, j in 0..4000] = max(k in 0..64) x[i, j + k - 20] or -inf; }
model wi_volume { input x : i8[40, 41, 42]; output y[a in 0..36, b in 0..36, c in 0..36] = sum(r in 0..5, s in 0..6, t in 0..7) x[a + r, b + s, c + t]; }
model wi_weighted { input x : f32[160, 170]; input w : f32[9, 9]; output y[i in 0..152, j in 0..162] = sum(r, s) x[i + r, j + s] * w[r, s]; output z[i in 0..152, j in 0..162] = sum(r in 0..9, s in 0..9) (x[i + r, j + s] - x[i, j]); }
