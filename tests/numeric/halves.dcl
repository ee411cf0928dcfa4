// Values of one product that meet at one point: gates of stacked weights and of two products of one
// input, rotary pairs, with and without biases, ragged.
model hv_slices { input x : f16[40, 64]; param w : f16[96, 64]; param b : f16[96]; h = linear(x, w, b); output y[s, f in 0..48] = silu(h[s, f]) * h[s, 48 + f]; }
model hv_bf16 { input x : bf16[70, 128]; param w : bf16[80, 128]; param v : bf16[80, 128]; param b : bf16[80]; param c : bf16[80]; g = linear(x, w, b); u = linear(x, v, c); output y = gelu(g) * u; }
model hv_f32 { input x : f32[19, 37]; param w : f32[30, 37]; h = linear(x, w); output y[s, f in 0..15] = sigmoid(h[s, f]) * h[s, 15 + f]; }
model hv_ragged { input x : f16[21, 40]; param w : f16[26, 40]; h = linear(x, w); output y[s, f in 0..13] = tanh(h[s, f]) * h[s, 13 + f]; }
model hv_few { input x : f16[5, 128]; param w : f16[192, 128]; param v : f16[192, 128]; g = linear(x, w); u = linear(x, v); output y = silu(g) * u; }
model hv_rotary {
  input x : f16[2, 18, 64]; param w : f16[64, 64];
  h = linear(x, w);
  q[b, n in 0..2, s, d in 0..32] = h[b, s, n * 32 + d];
  c[s in 0..18, d in 0..16] : f32 = cos(s * exp(-0.3 * d));
  z[s in 0..18, d in 0..16] : f32 = sin(s * exp(-0.3 * d));
  y[b, n, s, d in 0..16] = q[b, n, s, d] * c[s, d] - q[b, n, s, d + 16] * z[s, d];
  y[b, n, s, d in 16..32] = q[b, n, s, d] * c[s, d - 16] + q[b, n, s, d - 16] * z[s, d - 16];
  output y;
}
model hv_kept { input x : f16[40, 64]; param w : f16[96, 64]; h = linear(x, w); output y[s, f in 0..48] = silu(h[s, f]) * h[s, 48 + f]; output z = h; }
// what overlaps or leaves a gap stays apart
model hv_overlap { input x : f16[20, 64]; param w : f16[96, 64]; h = linear(x, w); output y[s, f in 0..64] = h[s, f] * h[s, 32 + f]; }

// the halves, and what was stored before them, of which their gradients are, too
model apart_a {
  input x : f32[3, 4, 7];
  t[b, i, j in 0..4] : f16 = 1 / (1 + (sum(k) x[b, i, k] * x[b, j, k]) * (sum(k) x[b, i, k] * x[b, j, k]));
  u[2 * i, j, l] = t[i, j, l];
  u[2 * i + 1, j, l] : f32 = -t[i, j, l];
  output t;
  output u;
  loss : f32 = square_sum(u);
  output g = grad(loss, x);
}
model apart_b {
  input x : f32[3, 4, 7];
  s[b, i, j in 0..4] = sum(k) x[b, i, k] * x[b, j, k];
  t = 1 / (1 + s * s);
  u[2 * i, j, l] = t[i, j, l];
  u[2 * i + 1, j, l] = -t[i, j, l];
  output u;
  loss : f32 = square_sum(u);
  output g = grad(loss, x);
}
