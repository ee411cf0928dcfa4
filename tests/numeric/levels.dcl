// Long reductions of few results: pieces first, then the pieces' results.

// mean and variance of columns; pieces of a part of the rows
model columns {
  input x : f32[4096, 1024];
  m[c] : f32 = mean(i) x[i, c];
  output a = m;
  output v[c] = mean(i) (x[i, c] - m[c]) * (x[i, c] - m[c]);
}

// of an image's channels, and what becomes of them
model images {
  input x : f16[3, 36, 224, 180];  param g : f16[36];
  m[c] : f32 = mean(n, h, w) x[n, c, h, w];
  v[c] : f32 = mean(n, h, w) (x[n, c, h, w] - m[c]) * (x[n, c, h, w] - m[c]);
  y[n, c, h, w] = (x[n, c, h, w] - m[c]) * rsqrt(v[c] + 1e-5) * g[c];
  output z[n, c] = max(h, w) y[n, c, h, w];
}

// sums, maxima and products of two tensors; a mean far from 0
model others {
  input x : f32[65536, 64];  input y : f32[65536, 64];
  output s[c] = sum(i) x[i, c] * y[i, c];
  output t[c] = max(i) (x[i, c] - y[i, c]);
  f[i, c] = x[i, c] + 1000;
  m[c] : f32 = mean(i) f[i, c];
  output v[c] = mean(i) (f[i, c] - m[c]) * (f[i, c] - m[c]);
}
// groups of channels that lie innermost: pieces are of rows of pixels
model le_groups_last { input x : f16[2, 128, 128, 128]; t[n, c, i, j] = x[n, i, j, c]; y = group_norm(t, groups = 32); output z[n, i, j, c] = y[n, c, i, j]; }
// the same of one image
model le_groups_one { input x : f16[1, 160, 128, 64]; t[n, c, i, j] = x[n, i, j, c]; y = group_norm(t, groups = 16); output z[n, i, j, c] = y[n, c, i, j]; }
