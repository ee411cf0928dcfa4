// Memory from run to run, and loops at run time.
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
model st_scan_sum { input x : f32[7, 5]; h : f32[5] = 0; scan t in 0..7 { h[i] = h[i] + x[t, i]; y[t, i] = h[i]; } output z = y; }
model st_scan_final { input x : f32[6, 4]; h : f32[4] = 1; scan t in 0..6 { h[i] = 0.5 * h[i] * h[i] + x[t, i]; } output z = h; }
block lstm(x: T[S, B, I]; hidden) -> y {
  dim H = hidden;
  param wi : T[4 * H, I] = "weight_ih";
  param wh : T[4 * H, H] = "weight_hh";
  param b : T[4 * H] = "bias";
  g = linear(x, wi, b);
  h : T[B, H] = 0;
  c : f32[B, H] = 0;
  scan t in 0..S {
    z[b, k] : f32 = g[t, b, k] + sum(j) h[b, j] * wh[k, j];
    c[b, j in 0..H] = sigmoid(z[b, H + j]) * c[b, j] + sigmoid(z[b, j]) * tanh(z[b, 2 * H + j]);
    h[b, j in 0..H] = sigmoid(z[b, 3 * H + j]) * tanh(c[b, j]);
    y[t, b, j] = h[b, j];
  }
}
model st_lstm { input x : f32[4, 2, 5]; output y = lstm(x, hidden = 6); }
model st_lstm_f16 { input x : f16[3, 1, 8]; output y = lstm(x, hidden = 16); }
