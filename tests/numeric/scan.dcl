// Loops at run time.
model sc_scan_sum { input x : f32[7, 5]; h : f32[5] = 0; scan t in 0..7 { h[i] = h[i] + x[t, i]; y[t, i] = h[i]; } output z = y; }
model sc_scan_final { input x : f32[6, 4]; h : f32[4] = 1; scan t in 0..6 { h[i] = 0.5 * h[i] * h[i] + x[t, i]; } output z = h; }
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
model sc_lstm { input x : f32[4, 2, 5]; output y = lstm(x, hidden = 6); }
model sc_lstm_f16 { input x : f16[3, 1, 8]; output y = lstm(x, hidden = 16); }
