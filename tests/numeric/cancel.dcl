// Outputs of which nothing is left but rounding, or little.
model ca_one { input x : f32[5, 33]; p = softmax(x); output y[i] = (sum(j) p[i, j]) - 1; }
model ca_mean { input x : f16[64, 33]; c[i, j] = x[i, j] - mean(k) x[i, k]; output y[i] = mean(j) c[i, j]; }
model ca_turned { input x : f32[8, 512]; input w : f32[16, 512]; a = linear(x, w);
  b[i, j] = sum(k in 0..512) w[j, 511 - k] * x[i, 511 - k]; output y = a - b; }
model ca_circle { input x : f32[8, 64]; s = sin(x); c = cos(x); output y = s * s + c * c - 1; }
model ca_norm { input x : f32[8, 64]; output y = layer_norm(x * 1e-6 + 10); }
model ca_variance { input x : f32[8, 512]; output y = variance(x * 1e-5 + 300); }
// the rest of the run before
model ca_state { input x : f32[5, 33]; state h : f32[5]; p = softmax(x); h[i] = h[i] + (sum(j) p[i, j]) - 1; output y = h; }
// a contrast of what matches: next to nothing of rows that are 100 long
model ca_matched { input x : f16[12, 32]; param w : f16[64, 32]; param v : f16[32, 64];
  a = x + linear(gelu(linear(layer_norm(x), w)), v); b = x + linear(gelu(linear(layer_norm(x), w)), v) * 0.5;
  na[i] : f32 = sum(d) f32(a[i, d]) * a[i, d]; nb[i] : f32 = sum(d) f32(b[i, d]) * b[i, d];
  z[i, j] = 40 * (sum(d) a[i, d] * b[j, d]) * rsqrt(na[i] * nb[j]); t[i in 0..12] = i + 0; output loss = cross_entropy(z, t); }
// a number that stands for -inf, in memory and in the text
model ca_sentinel { input x : f32[6, 9]; input n : i32[6] in 0..9; a : f32[6, 9] = -1e30; a[i, n[i]] = x[i, n[i]]; m[i, j] = max(max(a[i, j], a[i, j - 1] or -1e30), -1e30); s[i, j] = exp(a[i, j] - m[i, j]) + exp((a[i, j - 1] or -1e30) - m[i, j]); output y[i, j] = log(s[i, j]) + 0 / s[i, j]; output z = a; }
