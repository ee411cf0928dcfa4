// Sums over points whose data name a row: a block lists those of its rows
model ls_rows { input ids : i32[700] in -2..50; input x : f16[700, 24]; output y[i, j] : f16[45, 24] = sum(p) (ids[p] == i ? x[p, j] : 0); }
model ls_tables { input ids : i32[3, 400] in 0..50; input x : f32[3, 400, 5]; output y[b, i, j] : f32[3, 45, 5] = max(p) (ids[b, p] == i ? x[b, p, j] * 2 : -inf); }
model ls_last { input ids : i32[500] in 0..600; output y[i] : i32[600] = max(p) (ids[p] == i ? p : -1); }
model ls_two { input a : i32[300] in 0..9; input b : i32[300] in 0..11; input x : f16[300, 8]; output y[i, j, d] : f16[9, 11, 8] = sum(p) (a[p] == i && b[p] == j ? x[p, d] : 0); }
model ls_row_values { input ids : i32[20, 30] in 0..50; input x : f16[20, 30, 16]; input s : f16[50, 16]; output y[i, j] : f16[50, 16] = s[i, j] + sum(p, q) (ids[p, q] == i ? x[p, q, j] * s[i, j] : 0); }
model ls_count { input x : i32[3000] in 0..40; h : i32[40] = 0; h[x[i]] += 1; output h; }
model ls_several { input ids : i32[900] in 0..70; input x : f32[900]; output y[i] : f32[70] = prod(p) (ids[p] == i ? 1 + x[p] * 0.01 : 1); output m[i] : f32[70] = min(p) (ids[p] == i ? x[p] : inf); }
model ls_mean { input ids : i32[300] in 0..40; input x : f16[300, 600]; a[i, j] : f16[40, 600] = sum(p) (ids[p] == i ? x[p, j] : 0); n[i] : f32[40] = sum(p) (ids[p] == i ? 1.0 : 0.0); output y[i, j] = a[i, j] / max(n[i], 1.0); }
model ls_state { input ids : i32[60] in 0..9; input x : f32[60, 3]; state k : f32[9, 3]; k[ids[i], d] += x[i, d]; output y = k * 1; }
model ls_one_row { input ids : i32[400] in 0..2; input x : bf16[400, 40]; output y[i, j] : bf16[1000, 40] = sum(p) (ids[p] == i ? x[p, j] : 0); }
// most points name few rows
model ls_skew { input ids : i32[3000] in 0..90; input x : f16[3000, 24]; output y[i, j] : f16[45, 24] = sum(p) ((ids[p] < 80 ? 3 : ids[p] % 45) == i ? x[p, j] : 0); }
model ls_skew_two { input ids : i32[2500] in 0..300; input x : f32[2500, 5]; output y[i, j] : f32[120, 5] = sum(p) ((ids[p] < 150 ? 70 : ids[p] < 200 ? 69 : ids[p] - 190) == i ? x[p, j] : 0); output m[i, j] : f32[120, 5] = max(p) ((ids[p] < 150 ? 70 : ids[p] < 200 ? 69 : ids[p] - 190) == i ? x[p, j] : -1); }
model ls_skew_count { input ids : i32[9000] in 0..40; output n[i] : i32[60] = sum(p) ((ids[p] < 39 ? 17 : p % 60) == i ? 1 : 0); }
model ls_skew_rows { input ids : i32[4000] in 0..9; input x : bf16[4000, 40]; input s : f32[100]; output y[i, j] : f32[100, 40] = sum(p) ((ids[p] < 6 ? 99 : ids[p]) == i ? x[p, j] * s[i] : 0); }
// many points of each row: in pieces
model ls_pieces { input ids : i32[4, 4096] in 0..140; input x : f16[4, 4096, 64]; output y[i, j] : f16[128, 64] = sum(b, p) (ids[b, p] == i ? x[b, p, j] : 0); }
model ls_bins { input x : f32[16384]; input z : f32[16384, 32]; output h[b, d] : f32[160, 32] = sum(i) (i32(abs(x[i]) * 100) == b ? z[i, d] : 0); }
