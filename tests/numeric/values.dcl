// Where a literal or a compile-time value meets a type.
model va_state_i8 { input x : i8[5]; state c : i8[5] = 300; output y[i] = c[i] + x[i]; c[i] = c[i] / 2; }
model va_state_u8 { input x : i8[5]; state c : u8[5] = -3; output y[i] = c[i] + x[i]; c[i] = c[i] + 1; }
model va_state_i32 { input x : i32[5]; state c : i32[5] = 3e9; output y[i] = c[i] / 3 + x[i]; c[i] = c[i]; }
model va_state_inf { input x : f32[5]; state m : f32[5] = -inf; m[i] = max(m[i], x[i]); output y[i] = m[i]; }
model va_state_half { input x : f16[5]; state m : f16[5] = 1e6; output y[i] = min(m[i], 5) + x[i]; m[i] = m[i] / 2; }
model va_state_bool { input x : f32[5]; state m : bool[5] = 0.5; output y[i] = m[i] ? x[i] : 0; m[i] = x[i] > 0; }
model va_i8 { input x : i8[9]; output a[i] = x[i] + 300; output b[i] = x[i] * 200; output c[i] = x[i] > 200 ? 1 : 2; output d[i] = min(x[i], 1000); output e[i in 0..9] = (x[i - 1] or 500) + 1; output f[i] : i8 = x[i] + 100; output g[i] : u8 = x[i] - 5; }
model va_u8 { input x : u8[9]; output a[i] = x[i] - 300; output b[i] = x[i] > -1 ? 1 : 2; output c[i in 0..9] = (x[i - 1] or -7) + 1; output d[i] : i8 = x[i] + 0; output e[i] = max(x[i], -5); }
model va_i32 { input x : i32[9]; output a[i] = x[i] + 3000000000; output b[i] = i32(3000000000) / 2 + x[i]; output c[i] = x[i] < 3000000000 ? 1 : 2; output d[i in 0..9] = (x[i - 1] or -3000000000) / 2; output e[i] = x[i] * 1.5 + 4000000000; }
model va_wrap { input x : i32[64] in 0..2147483647; input z : i32[64]; output a[i] = (x[i] + x[i]) / 3; output b[i] = x[i] * x[i] % 7; output c[i] = x[i] * 3 > z[i] ? 1 : 0; output d[i] = (x[i] + 5) * 0.5; output e[i] = max(x[i] * 5, 3); output f[i] = f32(x[i] - 3 * z[i] * x[i]); output g[] = sum(i) x[i]; output h[i] = i8(x[i] * 7); output k[i] = -x[i] * 2 - 5; output l[] = prod(i) x[i]; }
model va_bool { input x : bool[9]; output a[i] = x[i] + 3; output b[i] = x[i] * -2; output c[i] = x[i] > 5 ? 1 : 2; output d[i] = x[i] == 1 ? 4 : 5; output e[i] : bool = x[i] * 0.25; }
model va_half { input x : f16[9]; output a[i] = x[i] + 1e6; output b[i] = min(x[i], 1e6); output c[i] = x[i] > 1e6 ? 1 : 2; output d[i in 0..9] = (x[i - 1] or -inf); output e[i] = max(x[i], -inf); output f[i] = x[i] * 1e-3; output g[i in 0..9] : f16 = 7e4; output h[i] = x[i] / inf; }
model va_bf16 { input x : bf16[9]; output a[i] = x[i] + 1e30; output b[i] = min(x[i], inf); output c[i in 0..9] : bf16 = 1e39; output d[i] = x[i] + 0.1; }
model va_casts { input x : f32[9]; output a[i] = i8(1000) + i8(x[i]); output b[i] = u8(-4) + u8(x[i]); output c[i] = i32(inf) / 2 + i32(x[i]); output d[i] = f32(f16(1e6)) + x[i]; output e[i] = bool(0.5) + x[i]; output f[i] = i32(-2.9) + i32(x[i]); output g[i in 0..9] : i8 = 1e9; output h[i] = f16(0.1) + x[i]; }
model va_promise_i8 { input x : i8[40] in 0..20; param t : f32[20, 3]; output y[i, j] = t[x[i], j]; }
model va_promise_u8 { input x : u8[40] in 200..220; param t : f32[20, 3]; output y[i, j] = t[x[i] - 200, j]; }
model va_promise_neg { input x : i8[40] in -20..20; param t : f32[40, 3]; output y[i, j] = t[x[i] + 20, j]; }
model va_promise_wide { input x : i8[40] in -1000..1000; output y[i] = x[i] * 2; }
model va_argmax { input x : f32[5, 9]; input q : i8[5, 9]; input u : u8[5, 9]; input n : i32[5, 9]; input h : f16[5, 9]; input g : bf16[5, 9]; input t : bool[5, 9]; b[i, j] = x[i, j] > 0.5; output a[i] = argmax(j) b[i, j]; output c[i] = argmin(j) b[i, j]; output d[i] = argmax(j) q[i, j]; output e[i] = argmin(j) u[i, j]; output f[i] = argmax(j) n[i, j]; output k[i] = argmax(j) h[i, j]; output l[i] = argmax(j) g[i, j]; output m[i] = argmax(j) t[i, j]; output o[i] = max(j) b[i, j]; }
