// A factor that is computed on its way from a slot to wgmma: of rows, of
// columns, of both; rows, columns and sums that end inside a tile.
model pre_relu { input x : f16[130, 200]; param w : f16[72, 200]; param s : f16[200]; h[i, k] : f16 = relu(x[i, k]) * s[k] + 0.25; output y[i, j] = sum(k) h[i, k] * w[j, k]; }
model pre_exp { input x : bf16[300, 136]; param w : bf16[96, 136]; param m : f32[300] ; param g : f32[136]; h[i, k] : bf16 = exp(0.25 * x[i, k] - m[i]) * g[k]; output y[i, j] = sum(k) h[i, k] * w[j, k]; }
model pre_batch { input x : f16[3, 70, 96]; input b : f16[3, 40, 96]; input s : f32[3, 96]; h[i, j, d] : f16 = x[i, j, d] * s[i, d]; output y[i, j, k] = sum(d) h[i, j, d] * b[i, k, d]; }
model pre_rows { input x : f16[64, 256]; param w : f16[128, 256]; input s : f32[64, 3]; h[i, k in 0..250] : f16 = 1 / (1 + abs(x[i, k])) * rsqrt(s[i, 1] * s[i, 2] * s[i, 1] * s[i, 2] + 1) - s[i, 0]; output y[i, j] = relu(sum(k in 0..250) h[i, k] * w[j, k]); }
model pre_odd { input x : f16[70, 264]; param w : f16[264, 136]; param g : f16[133]; input r : f16[70, 136]; h[i, k] : f16 = max(x[i, k], g[k / 2]); output y[i, j] = (sum(k) h[i, k] * w[k, j]) + r[i, j]; }
model pre_norm {
  input x : f16[4, 50, 128]; param w : f16[3, 80, 128]; param g : f16[128]; param b : f16[128];
  input mean : f32[4, 50]; input var : f32[4, 50];
  h[n, i, k] : f16 = (x[n, i, k] - mean[n, i]) * rsqrt(abs(var[n, i]) + 1) * g[k] + b[k];
  output y[n, i, e, j] = sum(k) h[n, i, k] * w[e, j, k];
}
// a factor's row in s beside a tensor called so
model pr_names { input a_s : f32[40, 2, 6, 6]; input m : f32[40, 2, 6]; input v : f16[40, 6, 2, 64]; output y[n, h, s, d] : f16 = sum(k) f16(exp(a_s[n, h, s, k] - m[n, h, s])) * v[n, k, h, d]; }
