// Stores where data say: of equal places the last, or the sum
model sc_last { input ids : i32[30] in 0..9; input x : f32[30, 5]; t : f32[9, 5] = 0; t[ids[i], j] = x[i, j]; output t; }
model sc_out { input ids : i32[30] in -3..12; input x : f32[30, 5]; input z : f32[9, 5]; t = z; t[ids[i], j] = x[i, j]; u = t; u[ids[i], j] += x[i, j]; output u; }
model sc_two { input a : i32[4, 6] in 0..5; input b : i32[4, 6] in 0..7; input x : f16[4, 6, 16]; t : f16[5, 7, 16] = 0; t[a[i, j], b[i, j], d] = x[i, j, d]; output t; }
model sc_batch_many { input p : i32[4, 3] in 0..7; input x : f16[4, 3]; t : f16[4, 7] = -1; t[b, p[b, i]] = x[b, i]; output t; }
model sc_pos { input pos : i32 in 0..7; input x : f32[5]; t : f32[7, 5] = 0; t[pos, d] = x[d]; output t; }
model sc_histogram { input x : i32[100] in 0..10; h : i32[10] = 0; h[x[i]] += 1; output h; }
model sc_overlap_add { input x : f32[4, 3]; t : f32[6] = 0; t[i + r] += x[i, r]; output t; }
model sc_of_sum { input ids : i32[6] in 0..9; input x : f16[6, 32]; param w : f16[8, 32]; t : f32[9, 8] = 0; t[ids[i], j] += sum(k) x[i, k] * w[j, k]; output t; }
model sc_state_add { input ids : i32[6] in 0..9; input x : f32[6, 3]; state k : f32[9, 3]; k[ids[i], d] += x[i, d]; output y = k * 1; }
// sums of what lies far apart, as products with ones and zeros; infinities are of their own rows alone
model sc_rows { input ids : i32[300] in -2..11; input x : f16[300, 64]; t : f32[9, 64] = 1; t[ids[i], j] += f32(x[i, j]); output t; }
model sc_rows_two { input ids : i32[4, 90] in 0..20; input x : bf16[4, 90, 40]; t : f32[20, 40] = 0; t[ids[n, i], j] += f32(x[n, i, j]); output t; }
model sc_rows_far { input ids : i32[200] in 0..70; input x : f32[200, 24]; output t[c in 0..70, j] = sum(i) (ids[i] == c ? exp(x[i, j] * x[i, j] * 40) : 0); }
