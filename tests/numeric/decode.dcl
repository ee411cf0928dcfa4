// Few rows against many columns: a token over its past and over data's part of
// it, several at once, grouped heads, both arrangements, lengths that no tile
// divides, fewer columns than a block takes, rows that have nothing.
model de_token {
  input q : f16[3, 64]; input kv : f16[2, 3, 64]; input pos : i32 in 0..200; state k : f16[3, 200, 64]; state v : f16[3, 200, 64];
  k[h, pos, d] = kv[0, h, d]; v[h, pos, d] = kv[1, h, d];
  s[h, j] : f32 = j <= pos ? 0.125 * sum(d) q[h, d] * k[h, j, d] : -inf;
  p : f16 = softmax(s);
  output y[h, e] = sum(j) p[h, j] * v[h, j, e];
}
model de_grouped {
  input q : bf16[2, 2, 8, 40]; input k : bf16[2, 1333, 2, 40]; input v : bf16[2, 1333, 2, 24]; input seen : i32[2] in 3..1331;
  s[b, i, h, j] : f32 = j > seen[b] + i ? -inf : 0.2 * sum(d) q[b, i, h, d] * k[b, j, h / 4, d];
  p : bf16 = softmax(s);
  output y[b, i, h, e] = sum(j) p[b, i, h, j] * v[b, j, h / 4, e];
}
// a window, a bias, a cap; several positions behind a past
model de_window {
  input q : f16[2, 5, 80]; input k : f16[2, 700, 80]; input v : f16[2, 700, 128]; input slope : f32[2]; input w : f16[5, 700];
  t[h, i, j] : f32 = 30 * tanh(0.01 * sum(d) q[h, i, d] * k[h, j, d]) + w[i, j];
  s[h, i, j] : f32 = j > i + 690 || i + 690 - j >= 300 ? -inf : t[h, i, j] - slope[h] * (i + 690 - j);
  p : f16 = softmax(s);
  o[h, i, e] = sum(j) p[h, i, j] * v[h, j, e];
  output y = o + 1;
}
// more rows than a warp has; to f32, with what is behind
model de_many {
  input q : f16[12, 7, 32]; input k : f16[2, 530, 32]; input v : f16[2, 530, 16]; input x : f32[12, 7, 16];
  s[h, i, j] : f32 = 0.2 * sum(d) q[h, i, d] * k[h / 6, j, d];
  p : f16 = softmax(s);
  o[h, i, e] : f32 = sum(j) p[h, i, j] * v[h / 6, j, e];
  output y = x + o * 0.5;
}
model de_short { input q : f16[2, 1, 64]; input k : f16[2, 17, 64]; input v : f16[2, 17, 40]; output y = attention(q, k, v); }
// rows that have nothing are 0
model de_nothing {
  input q : f16[9, 48]; input k : f16[300, 48]; input v : f16[300, 48]; input from : i32[1] in 0..300;
  t[i, j] : f32 = j < from[0] + 40 * i ? -inf : 0.1 * sum(d) q[i, d] * k[j, d];
  m[i] = max(j) t[i, j];
  w[i, j] : f16 = exp(t[i, j] - (m[i] == -inf ? 0 : m[i]));
  z[i] = sum(j) f32(w[i, j]);
  o[i, e] = sum(j) w[i, j] * v[j, e];
  output y[i, e] : f16 = z[i] > 0 ? o[i, e] / z[i] : 0;
}
// no softmax
model de_linear {
  input q : f16[2, 6, 64]; input k : f16[2, 450, 64]; input v : f16[2, 450, 64];
  s[b, i, j] : f16 = j > i + 444 ? 0 : 0.01 * sum(d) q[b, i, d] * k[b, j, d];
  output y[b, i, e] = sum(j) s[b, i, j] * v[b, j, e];
}
// a sink, and what it is divided by
model de_sink { input q : f16[2, 8, 64]; input k : f16[2, 300, 64]; input v : f16[2, 300, 64]; input sink : f32[8];
  s[b, h, j] : f32 = 0.5 * sum(d) q[b, h, d] * k[b, j, d];
  m[b, h] = max(max(j) s[b, h, j], sink[h]);
  w[b, h, j] = exp(s[b, h, j] - m[b, h]);
  z[b, h] = (sum(j) w[b, h, j]) + exp(sink[h] - m[b, h]);
  p[b, h, j] : f16 = w[b, h, j] / z[b, h];
  output y[b, h, e] = sum(j) p[b, h, j] * v[b, j, e];
}
// as many rows as a team of warps has, and more; how many columns count
model de_team {
  input q : bf16[12, 16, 48]; input k : bf16[2, 333, 48]; input v : bf16[2, 333, 80]; input n : i32[2] in 1..334;
  s[h, i, j] : f32 = j < n[h / 6] ? 0.2 * sum(d) q[h, i, d] * k[h / 6, j, d] : -inf;
  p : bf16 = softmax(s);
  output y[h, i, e] = sum(j) p[h, i, j] * v[h / 6, j, e];
}
model de_more {
  input q : f16[12, 24, 32]; input k : f16[2, 200, 32]; input v : f16[2, 200, 32];
  s[h, i, j] : f32 = j > i + 170 ? -inf : 0.2 * sum(d) q[h, i, d] * k[h / 6, j, d];
  p : f16 = softmax(s);
  output y[h, i, e] = sum(j) p[h, i, j] * v[h / 6, j, e];
}
// how far the second goes is what a launch finds: its kernel, the first's, asks
// for no column before that
model de_later {
  input q : f16[3, 64]; input k : f16[3, 300, 64]; input v : f16[3, 300, 64]; input seen : i32[3] in 0..64;
  s[h, j] : f32 = j > seen[h] ? -inf : 0.125 * sum(d) q[h, d] * k[h, j, d];
  p : f16 = softmax(s);
  o[h, e] = sum(j) p[h, j] * v[h, j, e];
  @nofuse more[h] = argmax(e) o[h, e];
  t[h, j] : f32 = j > more[h] ? -inf : 0.125 * sum(d) o[h, d] * k[h, j, d];
  r : f16 = softmax(t);
  output y[h, e] = sum(j) r[h, j] * v[h, j, e];
}
// a mask of -FLT_MAX that leaves a team of warps nothing
model de_padded {
  input q : f16[3, 4, 32, 32]; input k : f16[3, 4, 32, 32]; input v : f16[3, 4, 32, 32];
  t[b in 0..3, j in 0..32] : f32 = b == 1 && j >= 16 || b == 2 && j < 29 ? -3.4028235e38 : 0;
  s[b, h, i, j] : f32 = 0.2 * sum(d) q[b, h, i, d] * k[b, h, j, d] + t[b, j];
  p : f16 = softmax(s);
  output y[b, h, i, e] = sum(j) p[b, h, i, j] * v[b, h, j, e];
}
