// Several points of a vector read one element: what is scaled up, in one or two
// directions, by more than a vector, and what only looks like it.
model sc_nearest { input x : f16[2, 3, 8, 12]; output y = upsample(x); }
model sc_nearest_f32 { input x : f32[2, 3, 5, 12]; output y = upsample(x); }
model sc_nearest_odd { input x : f16[1, 3, 5, 9]; output y = upsample(x); }
model sc_four { input x : bf16[2, 3, 4, 10]; output y = upsample(x, scale = 4); }
model sc_sixteen { input x : f16[2, 2, 3, 4]; output y = upsample(x, scale = 16); }
model sc_three { input x : f16[1, 2, 5, 8]; output y = upsample(x, scale = 3); }
model sc_bilinear { input x : f16[2, 3, 8, 12]; output y = upsample(x, mode = "bilinear"); }
model sc_bilinear_f32 { input x : f32[1, 2, 5, 10]; output y = upsample(x, mode = "bilinear"); }
model sc_bilinear_four { input x : f16[1, 2, 5, 6]; output y = upsample(x, scale = 4, mode = "bilinear"); }
model sc_added { input x : f16[1, 4, 6, 8]; input u : f16[1, 4, 12, 16]; output y = relu(upsample(x) + u); }
model sc_line { input x : i8[3, 40]; output y[i, q in 0..80] = x[i, q / 2] + x[i, 39 - q / 2]; }
model sc_window { input x : f32[40]; output y[q in 0..64] = x[q / 2 + q % 2 * 3]; }
model sc_turned { input x : f16[16, 9]; output y[i, q in 0..32] = x[q / 2, i]; }
model sc_shuffle { input x : f16[1, 16, 6, 8]; output y[n, c in 0..4, h in 0..12, w in 0..16] = x[n, c * 4 + h % 2 * 2 + w % 2, h / 2, w / 2]; }
model sc_padded { input x : f16[3, 20]; output y[i, q in 0..48] = x[i, q / 2 - 2] or 1; }
model sc_pairs { input x : f16[3, 2, 32]; input c : f32[2, 16]; input s : f32[2, 16]; output y[b, t, d in 0..32] : f16 = x[b, t, d] * c[t, d / 2] + (d % 2 == 0 ? -x[b, t, d / 2 * 2 + 1] : f32(x[b, t, d / 2 * 2])) * s[t, d / 2]; }
model sc_pairs_f32 { input x : f32[3, 2, 24]; input c : f32[2, 12]; output y[b, t, d in 0..24] = x[b, t, d / 2 * 2 + 1] * c[t, d / 2] + x[b, t, d / 2 * 2]; }
