// What products' results read of tensors that lie as they do comes by TMA.

// a residual; rows end inside a tile, and a block has several tiles
model residual {
  dim M = 9000;  dim N = 192;  dim K = 72;
  input x : f16[M, K];
  input r : f16[M, N];
  param w : f16[N, K];
  t[m, n] : f16 = sum(k) x[m, k] * w[n, k];
  output y[m, n] : f16 = t[m, n] + r[m, n];
}

// four of them, two in one tensor, of a weight across; another at other places
model many {
  dim M = 1100;  dim N = 256;  dim K = 200;
  input x : bf16[M, K];
  input r : bf16[M, 2, N];
  input s : bf16[M, N];
  input u : bf16[M + 1, N];
  param w : bf16[K, N];
  t[m, n] : f32 = sum(k) x[m, k] * w[k, n];
  v[m, n] : bf16 = t[m, n] * r[m, 0, n] + relu(s[m, n]);
  output y[m in 0..M, n] : bf16 = v[m, n] + u[m + 1, n] - u[m, n];
  output z[m, n] : bf16 = v[m, n] + r[m, 1, n];
}

// the gradient of a gelu, of pixels
model pixels {
  dim B = 3;  dim P = 52;  dim C = 64;
  input d : f16[B, C, P, P];
  input x : f16[B, 128, P, P];
  param w : f16[C, 128];
  t[b, n, p, q] : f32 = sum(c) d[b, c, p, q] * w[c, n];
  output y[b, n, p, q] : f16 = t[b, n, p, q] * gelu(x[b, n, p, q]);
}

// a long sum, whose last tiles' are asked for between its steps
model long {
  dim M = 520;  dim N = 256;  dim K = 904;
  input x : f16[M, K];
  input r : f16[M, N];
  param w : f16[K, N];
  t[m, n] : f32 = sum(k) x[m, k] * w[k, n];
  output y[m, n] : f16 = t[m, n] + r[m, n];
}

// what is read is where the result goes
model kept {
  dim M = 1000;  dim N = 128;
  input x : f16[M, 64];
  param w : f16[N, 64];
  state r : f16[M, N] = 0.5;
  t[m, n] : f32 = sum(k) x[m, k] * w[n, k];
  output y[m, n] : f16 = t[m, n] + 0.5 * r[m, n];
  r = y;
}

// a weight's step: f32, in place, with a copy of 16 bits
model update {
  dim M = 200;  dim N = 256;  dim K = 328;
  input d : f16[K, M];
  input x : f16[K, N];
  input rate : f32;
  state w : f32[M, N] = 0.5;
  g[m, n] : f32 = sum(k) d[k, m] * x[k, n];
  w[m, n] = w[m, n] - rate * g[m, n];
  output z[m, n] : f16 = w[m, n];
}

// results of f32 by fours, with what columns read; the last tile is not whole
model fours {
  dim M = 72;  dim N = 360;  dim K = 100;
  input d : f16[K, M];
  input x : f16[K, N];
  param b : f32[N];
  output g[m, n] : f32 = (sum(k) d[k, m] * x[k, n]) * 0.125 + b[n];
}

// pairs of f32, of which threads load what lies otherwise
model pairs_of_both {
  dim M = 200;  dim N = 256;  dim K = 136;
  input d : f16[K, M];
  input x : f16[K, N];
  input u : f32[M, N];
  input at : i32[M] in 0..M;
  state w : f32[M, N] = 0.5;
  g[m, n] : f32 = sum(k) d[k, m] * x[k, n];
  w[m, n] = w[m, n] - 0.125 * (g[m, n] + u[at[m], n]);
  output z[m, n] : f32 = w[m, n];
}
