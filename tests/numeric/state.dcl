// Memory from run to run.
model st_counter { input x : f32[3]; state n : f32[3] = 1; n = n + x; output y = n * 2; }
model st_integer { input x : i32[4]; state n : i32[4]; n[i] = n[i] + x[i]; output y[i] = n[i]; }
model st_old_and_new { input x : f32[5]; state h : f32[5] = 0.5; o = h + 0; h = x; output y = o - h; }
model st_cache {
  input x : f32[2, 6];
  input pos : i32 in 0..8;
  state k : f32[2, 8, 6] = 3;
  k[b, pos, d] = x[b, d];
  output y[b, s] = sum(d) k[b, s, d] * x[b, d];
}
model st_cache_f16 {
  input x : f16[1, 16];
  input pos : i32 in 0..10;
  param w : f16[16, 16];
  state k : f16[1, 10, 16];
  q = linear(x, w);
  k[b, pos, d] = q[b, d];
  s[b, j] : f32 = j <= pos ? sum(d) q[b, d] * k[b, j, d] : -inf;
  p = softmax(s);
  output y[b, d] = sum(j) p[b, j] * k[b, j, d];
}
model st_cache_outside { input x : f32[4]; input pos : i32 in -2..9; state k : f32[6, 4]; k[pos, d] = x[d]; output y[i, d] = k[i, d] + 1; }
// All threads of a row read the old value, one stores the new one.
model st_row_max { input x : f16[70, 72]; state seen : f32[72] = 0.5; p[b, d] = x[b, d] * 2 + 1; seen[d] = seen[d] * 0.5 + max(b) p[b, d]; output near[b, d] = p[b, d] + seen[d]; }
model st_row_sum { input x : f32[9, 600]; state m : f32[9]; m[i] = m[i] * 0.5 + sum(k) x[i, k]; output y[i, k] = x[i, k] - m[i]; }
model st_row_wide { input x : f32[3, 5000]; state m : f32[3]; m[i] = m[i] * 0.5 + sum(k) x[i, k]; output y[i, k] = x[i, k] * m[i]; }
model st_row_few { input x : f32[37, 6]; state m : f32[37]; m[i] = m[i] * 0.5 + max(k) x[i, k]; output y[i, k] = x[i, k] + m[i]; }
