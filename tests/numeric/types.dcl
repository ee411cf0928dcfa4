// Casts, integer arithmetic, saturation, booleans.
model ty_to_f16 { input x : f32[41]; output y[i] = f16(x[i] * 100); }
model ty_to_bf16 { input x : f32[41]; output y[i] = bf16(x[i] * 100); }
model ty_i8_index { input ids : i8[20] in 0..30; input t : f16[30, 9]; output y[i, j] = t[ids[i], j]; }
model ty_to_i8 { input x : f32[41]; output y[i] = i8(x[i] * 200); }
model ty_to_i32 { input x : f32[41]; output y[i] = i32(x[i] * 10); }
model ty_to_i32_big { input x : f32[41]; output y[i] = i32(x[i] * 3e9); }
model ty_i32_to_i8 { input x : i32[41] in -400..400; output y[i] = i8(x[i]); }
model ty_to_bool { input x : i32[41] in 0..3; output y[i] = bool(x[i]); }
model ty_to_f32 { input x : i32[41] in -1000000..1000000; output y[i] = f32(x[i]); }
model ty_i8_to_f16 { input x : i8[41]; output y[i] : f16 = x[i] / 128.0; }
model ty_round_inside { input x : f32[41]; output y[i] = f16(x[i]) * 3 + x[i]; }
model ty_floor_divide { input x : i32[60] in -30..30; output y[i] = x[i] / 7; output z[i] = x[i] % 7; }
model ty_divide_negative { input x : i32[60] in -30..30; output y[i] = x[i] / -7; output z[i] = x[i] % -7; }
model ty_divide_data { input x : i32[60] in -30..30; input d : i32[60] in -3..4; output y[i] = x[i] / d[i]; output z[i] = x[i] % d[i]; }
model ty_integer_minmax { input x : i32[23]; input z : i32[23]; output y[i] = min(x[i], z[i]) - max(x[i], 3) + abs(z[i]); }
model ty_integer_compare { input x : i32[23]; input z : i32[23]; output y[i] = x[i] < z[i] ? x[i] : x[i] == z[i] ? 0 : z[i]; }
model ty_i8_arith { input x : i8[50]; input z : i8[50]; output y[i] = x[i] * z[i] + x[i]; }
model ty_bool_arith { input x : f32[50]; output y[i] = (x[i] > 0) + (x[i] > 1) * 2; }
// Few comparisons are added up where they stand, and count to more than 1.
model ty_bool_count { input x : i32[4] in -7..8; input z : f32[2, 8, 8];
  output y[i in 0..32] : u8 = sum(r in 0..3) (x[i / 8] < x[r]);
  output u[n, p in 0..16, q in 0..16] : f32 = sum(r in 0..2, s in 0..2) (z[n, p / 2, q / 2] > 0 && r + s < 3); }
// i8 and u8 are no part of each other, stored or not
model ty_signs { input x : i8[17] in -100..100; input z : u8[17]; output y : u8[17] = x; output u[i in 0..17] : i8 = z[16 - i] or 1;
  t : i8[17] = z; output v : i32[17] = t * 2; state c : u8[17]; c[i] = x[i]; output w = c + 1; }
model ty_bool_input { input x : bool[50]; input z : bool[50]; output y[i] = x[i] && !z[i]; output n[] = sum(i) x[i]; }
model ty_bool_select { input m : bool[6, 9]; input x : f16[6, 9]; output y[i, j] = m[i, j] ? x[i, j] : -1; }
model ty_quantised {
  input x : f32[9, 40];
  param w : i8[12, 40];
  q[i, k] = i8(rint(x[i, k] * 50));
  s[i, j] = sum(k) q[i, k] * w[j, k];
  output y[i, j] = s[i, j] * 0.01;
}
model ty_index_arith { output y[i in 0..7, j in 0..9] = i * 100 - j * j; }
model ty_index_float { input x : f32[8]; output y[i] = x[i] * i / 7.0; }
model ty_i32_promises { input p : i32 in 3..9; input x : f32[12]; output y[i] = i < p ? x[i] : 0; }
model ty_numbers { input x : f16[9]; output y[i] = x[i] * 0.1 + 1e-3; }
model ty_wide { input x : f16[9]; input z : f32[9]; output y[i] = x[i] * z[i]; }
model ty_store_f16 { input x : f32[33]; output y[i] : f16 = x[i] * 1.0001; }
model ty_store_i8 { input x : i32[33] in -50..50; output y[i] : i8 = x[i] * 2; }
model ty_overflow_f16 { input x : f16[33]; output y[i] = x[i] * 60000; }
// u8: 0 to 255, in arithmetic i32
model u8_to { input x : f32[41]; output y[i] = u8(x[i] * 400); output z[i] = u8(x[i] / 0.0); }
model u8_arith { input x : u8[50]; input z : i8[50]; output y[i] = x[i] * z[i] - x[i]; output w[i] = max(x[i], z[i]); output v[i] = z[i] > 0 ? x[i] : z[i]; }
model u8_f16 { input x : u8[8, 128]; output y[i, j] : f16 = x[i, j] / 255.0 - 0.5; output z[i] = mean(j) x[i, j]; }
model u8_max { input x : u8[8, 128]; output y[i] = max(j) x[i, j]; output z[i] = argmin(j) x[i, j]; output s[i] = sum(j) x[i, j]; output p : u8[8, 128] = 255 - x; }
model u8_index { input ids : u8[20] in 0..30; input t : f16[30, 9]; output y[i, j] = t[ids[i], j]; }
model u8_product {
  input x : f32[33, 40];
  param w : i8[24, 40];
  q[i, k] = u8(rint(x[i, k] * 90 + 100));
  s[i, j] = sum(k) (q[i, k] - 100) * w[j, k];
  p[i, j] = sum(k) q[i, k] * w[j, k];
  output y[i, j] = s[i, j] * 0.01;
  output z[i, j] = p[i, j];
}
model u8_both { input x : u8[33, 64]; param w : u8[24, 64]; output z[i, j] = u8((sum(k) x[i, k] * w[j, k]) / 5000); }
model u8_state { input x : u8[16]; state k : u8[16] = 200; output y[i] = k[i]; k[i] = u8(k[i] + x[i]); }

block dense(x: T[.., D]; out, bias = 0, type E = f16) -> y : E[.., out] {
  param w : E[out, D] = "weight";
  y[.., o] : E = sum(d) E(x[.., d]) * w[o, d] + bias;
}
op cast_to(x: T[..]; type E) -> y: E[..] { y[..] = E(x[..]); }
model ta_types { type F = bf16; input x : f32[5, 8]; output y = dense(x, out = 4, E = f32); output z = dense[1](x, out = 4, E = F); output u = dense[2](x, out = 3); output v = cast_to(x, E = i8); output w = cast_to(x, F); }
model ta_lists { dim kernel = [3, 2]; dim pad = 0; dim axis = -1; dim S = [2, 3]; dim R = S;
  input x : f32[2, 1, 6, 6]; input z : f32[S.., 4];
  output y = max_pool(x, kernel = kernel, pad = pad);
  output v = sum(z, axis = axis); output w[i in 0..R[1]] = z[S[0] - 1, i, 0];
  if (pad) { output t = x; } }
