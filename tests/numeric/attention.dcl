// Two products with a softmax between them, as one kernel: masks, biases, caps
// and groups, lengths that no tile divides, one block of columns and several.
model at_one { input q : f16[2, 2, 50, 64]; input k : f16[2, 2, 50, 64]; input v : f16[2, 2, 50, 64]; output a = attention(q, k, v); }
model at_causal { input q : f16[2, 300, 64]; input k : f16[2, 300, 64]; input v : f16[2, 300, 64]; output a = attention(q, k, v, causal = true); }
model at_cross {
  input q : bf16[2, 100, 3, 40]; input k : bf16[2, 233, 3, 40]; input v : bf16[2, 233, 3, 24]; input mask : f16[2, 1, 1, 233];
  s[b, h, i, j] : f32 = 0.2 * sum(d) q[b, i, h, d] * k[b, j, h, d] + mask[b, 0, 0, j];
  p : bf16 = softmax(s);
  output y[b, i, h, e] = sum(j) p[b, h, i, j] * v[b, j, h, e];
}
model at_window {
  input q : f16[2, 2, 270, 80]; input k : f16[2, 2, 270, 80]; input v : f16[2, 2, 270, 128]; input slope : f32[2];
  t[b, h, i, j] : f32 = 30 * tanh(0.01 * sum(d) q[b, h, i, d] * k[b, h, j, d]);
  s[b, h, i, j] : f32 = j > i || i - j >= 70 ? -inf : t[b, h, i, j] - slope[h] * (i - j);
  p : f16 = softmax(s);
  o[b, h, i, e] = sum(j) p[b, h, i, j] * v[b, h, j, e];
  output y = o + 1;
}
model at_grouped {
  input q : f16[1, 8, 70, 32]; input k : f16[1, 2, 140, 32]; input v : f16[1, 2, 140, 16]; input seen : i8[1, 140];
  s[b, h, i, j] : f32 = seen[b, j] > 100 ? -inf : 0.2 * sum(d) q[b, h, i, d] * k[b, h / 4, j, d];
  p : f16 = softmax(s);
  output y[b, h, i, e] = sum(j) p[b, h, i, j] * v[b, h / 4, j, e];
}
// the sum as it is, or -inf
model at_choice {
  input q : f16[90, 32]; input k : f16[140, 32]; input v : f16[140, 24];
  s[i, j] : f32 = j <= i + 40 ? sum(d) q[i, d] * k[j, d] : -inf;
  p : f16 = softmax(s);
  output y[i, e] = sum(j) p[i, j] * v[j, e];
}
// what is read of each score: in words, and one by one
model at_bias {
  input q : f16[2, 2, 70, 64]; input k : f16[2, 2, 150, 64]; input v : f16[2, 2, 150, 64]; input w : f16[2, 70, 150]; input u : f32[70, 150];
  s[b, h, i, j] : f32 = 0.1 * sum(d) q[b, h, i, d] * k[b, h, j, d] + w[h, i, j] * 2 - u[i, j];
  p : f16 = softmax(s);
  output y[b, h, i, e] = sum(j) p[b, h, i, j] * v[b, h, j, e];
}
// a band beside few columns: whatever the tile, some rows have none of them
model at_band {
  input q : bf16[130, 32]; input k : bf16[17, 32]; input v : bf16[17, 8];
  s[i, j] : f32 = j > i || i - j > 3 ? -inf : sum(d) q[i, d] * k[j, d];
  m[i] = max(j) s[i, j];
  w[i, j] : bf16 = exp(s[i, j] - (m[i] == -inf ? 0 : m[i]));
  z[i] = sum(j) f32(w[i, j]);
  o[i, e] = sum(j) w[i, j] * v[j, e];
  output y[i, e] : f32 = z[i] > 0 ? o[i, e] / z[i] : 0;
}
// weights are rounded before they are divided, to results that are not
model at_rounded { input q : bf16[1, 100, 4, 72]; input k : bf16[1, 260, 1, 72]; input v : bf16[1, 260, 1, 64]; input w : bf16[1, 4, 100, 260];
  s[b, h, i, j] : f32 = j < i - 70 ? -inf : 1.0 * sum(d) q[b, i, h, d] * k[b, j, h / 4, d] + w[b, h, i, j];
  p : bf16 = softmax(s);
  output y[b, i, h, e] : f32 = (sum(j) p[b, h, i, j] * v[b, j, h / 4, e]);
}
// scores of 10^4, equal ones, and rows that have one element
model at_huge {
  input q : f16[130, 32]; input k : f16[140, 32]; input v : f16[140, 48];
  s[i, j] : f32 = j > i / 16 * 16 ? -inf : 1000 * sum(d) q[i, d] * k[j, d];
  p : f16 = softmax(s);
  output y[i, e] = sum(j) p[i, j] * v[j, e];
}
// rows that have nothing are 0
model at_nothing {
  input q : f16[2, 100, 64]; input k : f16[2, 100, 64]; input v : f16[2, 100, 64];
  t[b, i, j] : f32 = j > i - 5 ? -inf : 0.1 * sum(d) q[b, i, d] * k[b, j, d];
  m[b, i] = max(j) t[b, i, j];
  w[b, i, j] : f16 = exp(t[b, i, j] - (m[b, i] == -inf ? 0 : m[b, i]));
  z[b, i] = sum(j) f32(w[b, i, j]);
  o[b, i, e] = sum(j) w[b, i, j] * v[b, j, e];
  output y[b, i, e] : f16 = z[b, i] > 0 ? o[b, i, e] / z[b, i] : 0;
}
// a residual, a gate and an f32 result behind the second product
model at_behind {
  input q : f16[3, 90, 64]; input k : f16[3, 90, 64]; input v : f16[3, 90, 64]; input x : f32[3, 90, 64]; input g : f16[64];
  s[b, i, j] : f32 = 0.125 * sum(d) q[b, i, d] * k[b, j, d];
  p : f16 = softmax(s);
  o[b, i, e] : f32 = sum(j) p[b, i, j] * v[b, j, e];
  output y = x + o * g;
}
// nothing reduced between the products: a layer of width 96, 0 above a diagonal
model at_pair {
  input x : f16[150, 40]; param w : f16[96, 40]; param b : f16[96]; param v : f16[48, 96]; param c : f16[48];
  output y = linear(gelu(linear(x, w, b)), v, c) + 1;
}
// blocks that two warpgroups have in turns, the last one ragged
model at_pair_turns {
  input x : bf16[130, 40]; param w : bf16[296, 40]; param b : bf16[296]; param v : bf16[64, 296]; input r : bf16[130, 64];
  output y = linear(gelu(linear(x, w, b)), v) + r;
}
model at_linear {
  input q : f16[2, 150, 64]; input k : f16[2, 150, 64]; input v : f16[2, 150, 64];
  s[b, i, j] : f16 = j > i ? 0 : 0.01 * sum(d) q[b, i, d] * k[b, j, d];
  output y[b, i, e] = sum(j) s[b, i, j] * v[b, j, e];
}
// other bases of exponentials than the greatest score: with a sink, none below
// a number, none at all; a sum that more is added to; powers of 2
model at_sink { input q : f16[2, 90, 64]; input k : f16[2, 200, 64]; input v : f16[2, 200, 64]; input sink : f32[2];
  s[b, i, j] : f32 = j > i + 100 ? -inf : 0.7 * sum(d) q[b, i, d] * k[b, j, d];
  m[b, i] = max(max(j) s[b, i, j], sink[b]);
  w[b, i, j] : f16 = exp(s[b, i, j] - m[b, i]);
  z[b, i] = (sum(j) f32(w[b, i, j])) + exp(sink[b] - m[b, i]);
  p[b, i, j] : f16 = w[b, i, j] / z[b, i];
  output y[b, i, e] = sum(j) p[b, i, j] * v[b, j, e];
}
model at_floor { input q : f16[100, 32]; input k : f16[150, 32]; input v : f16[150, 40];
  s[i, j] : f32 = j > i - 40 ? -inf : 0.5 * sum(d) q[i, d] * k[j, d];
  m[i] = max(-10000, max(j) s[i, j]);
  w[i, j] : f16 = exp(s[i, j] - m[i]);
  z[i] = sum(j) f32(w[i, j]);
  o[i, e] : f32 = sum(j) w[i, j] * v[j, e];
  output y[i, e] : f16 = o[i, e] / max(z[i], 0.001);
}
model at_more { input q : f16[100, 32]; input k : f16[310, 32]; input v : f16[310, 32];
  s[i, j] : f32 = 1.0 * sum(d) q[i, d] * k[j, d];
  m[i] = max(j) s[i, j];
  w[i, j] = exp(s[i, j] - m[i]);
  z[i] = 1 + sum(j) w[i, j];
  p[i, j] : f16 = w[i, j] / z[i];
  output y[i, e] = sum(j) p[i, j] * v[j, e];
}
model at_two { input q : bf16[70, 64]; input k : bf16[140, 64]; input v : bf16[140, 64];
  s[i, j] : f32 = 0.3 * sum(d) q[i, d] * k[j, d];
  m[i] = max(j) s[i, j];
  w[i, j] = exp2(s[i, j] - m[i]);
  z[i] = sum(j) w[i, j];
  p[i, j] : bf16 = w[i, j] / z[i];
  output y[i, e] = sum(j) p[i, j] * v[j, e];
}
model at_free { input q : f16[2, 70, 64]; input k : f16[2, 140, 64]; input v : f16[2, 140, 64];
  w[b, i, j] : f16 = exp(0.1 * sum(d) q[b, i, d] * k[b, j, d]);
  z[b, i] = sum(j) f32(w[b, i, j]);
  o[b, i, e] : f32 = sum(j) w[b, i, j] * v[b, j, e];
  output y[b, i, e] : f16 = o[b, i, e] / z[b, i];
}
// three heads that the next product has in one row, one of them only: what reads
// the heads apart keeps them so
model at_rows {
  input q : f16[2, 3, 50, 40]; input k : f16[2, 3, 50, 40]; input v : f16[2, 3, 50, 40]; input x : f16[2, 50, 72]; param w : f16[72, 120];
  a = attention(q, k, v);
  output y[b, i, e] = x[b, i, e] + sum(d) a[b, d / 40, i, d % 40] * w[e, d];
}
model at_rows_apart {
  input q : f16[2, 3, 50, 40]; input k : f16[2, 3, 50, 40]; input v : f16[2, 3, 50, 40]; param w : f16[72, 120];
  a = attention(q, k, v);
  h[b, i, d in 0..120] = a[b, d / 40, i, d % 40];
  output y[b, i, e] = sum(d) h[b, i, d] * w[e, d];
  output z[b, n, i] = sum(d) a[b, n, i, d];
}
// a mask of -FLT_MAX that hides all of a row's first blocks, as left padding
// does: times a scale it is beyond f32
model at_padded {
  input q : f16[3, 2, 100, 64]; input k : f16[3, 2, 300, 64]; input v : f16[3, 2, 300, 64];
  t[b in 0..3, j in 0..300] : f32 = j < 149 * b ? -3.4028235e38 : 0;
  s[b, h, i, j] : f32 = 0.125 * sum(d) q[b, h, i, d] * k[b, h, j, d] + t[b, j];
  p : f16 = softmax(s);
  output y[b, h, i, e] = sum(j) p[b, h, i, j] * v[b, h, j, e];
}

// Columns that two warpgroups may share: of one block, of two, of more.
model at_teams {
  input q : f16[1, 2, 300, 16]; input k : f16[1, 2, 300, 16]; input v : f16[1, 2, 300, 24];
  output y = attention(q, k, v, causal = true);
}
model at_teams_all { input q : bf16[1, 40, 64]; input k : bf16[1, 290, 64]; input v : bf16[1, 290, 32]; output y = attention(q, k, v); }
// a bias of a picture's rows, and one of its columns
model at_picture {
  input q : f16[2, 2, 100, 32]; input k : f16[2, 2, 108, 32]; input v : f16[2, 2, 108, 24];
  input up : f16[2, 2, 10, 10, 9]; input left : f16[2, 2, 100, 12];
  s[b, h, i, j] : f32 = (sum(d) q[b, h, i, d] * k[b, h, j, d]) / 5 + up[b, h, i / 10, i % 10, j / 12] + left[b, h, i, j % 12];
  p : f16 = softmax(s);
  output y[b, i, h, e] = sum(j) p[b, h, i, j] * v[b, h, j, e];
}
// queries and keys of a picture, whose rows and columns are one number in a bias
model at_image {
  input r : f16[2, 12, 10, 144]; input t : f16[2, 120, 120];
  q[b, h in 0..2, i in 0..120, d in 0..24] = r[b, i / 10, i % 10, 72 * h + d];
  k[b, h in 0..2, j in 0..120, d in 0..24] = r[b, j / 10, j % 10, 72 * h + d + 24];
  v[b, h in 0..2, j in 0..120, d in 0..24] = r[b, j / 10, j % 10, 72 * h + d + 48];
  output y = attention(q, k, v, t);
}
// values of the rows that leave it, too: all that the weights are had from again
model at_kept {
  input q : f16[2, 3, 70, 64]; input k : f16[2, 3, 300, 64]; input v : f16[2, 3, 300, 48];
  s[b, h, i, j] : f32 = j > i + 40 ? -inf : 0.125 * sum(d) q[b, h, i, d] * k[b, h, j, d];
  m[b, h, i] = max(j) s[b, h, i, j];
  z[b, h, i] = sum(j) exp(s[b, h, i, j] - m[b, h, i]);
  p[b, h, i, j] : f16 = exp(s[b, h, i, j] - m[b, h, i]) / z[b, h, i];
  output y[b, h, i, e] = sum(j) p[b, h, i, j] * v[b, h, j, e];
  output all[b, i, h] = m[b, h, i] + log(z[b, h, i]);
  output greatest : f16 = m;
}
// relative to a sink that is no score
model at_kept_sink {
  input q : bf16[2, 70, 32]; input k : bf16[2, 150, 32]; input v : bf16[2, 150, 32]; input sink : f32[2];
  s[h, i, j] : f32 = 0.3 * sum(d) q[h, i, d] * k[h, j, d];
  m[h, i] = max(j) s[h, i, j];
  t[h, i] = m[h, i] > sink[h] ? m[h, i] : sink[h];
  z[h, i] = sum(j) exp(s[h, i, j] - t[h, i]);
  p[h, i, j] : bf16 = exp(s[h, i, j] - t[h, i]) / (z[h, i] + exp(sink[h] - t[h, i]));
  output y[h, i, e] = sum(j) p[h, i, j] * v[h, j, e];
  output z;
  output t;
}
// without a maximum; and rows of which all is masked
model at_kept_sum {
  input q : f16[130, 32]; input k : f16[200, 32]; input v : f16[200, 40];
  w[i, j] : f32 = exp2(0.1 * sum(d) q[i, d] * k[j, d]);
  z[i] = sum(j) w[i, j];
  p[i, j] : f16 = w[i, j] / z[i];
  output y[i, e] = sum(j) p[i, j] * v[j, e];
  output z;
}
model at_kept_none {
  input q : f16[130, 64]; input k : f16[90, 64]; input v : f16[90, 64];
  s[i, j] : f32 = i < 70 || j > i ? -inf : sum(d) q[i, d] * k[j, d];
  m[i] = max(j) s[i, j];
  w[i, j] : f16 = exp(s[i, j] - (m[i] == -inf ? 0 : m[i]));
  z[i] = sum(j) f32(w[i, j]);
  o[i, e] = sum(j) w[i, j] * v[j, e];
  output y[i, e] : f32 = z[i] > 0 ? o[i, e] / z[i] : 0;
  output greatest[i] = m[i] == -inf ? -1 : m[i];
  output z;
}
// sequences shorter than a tile of tensor cores
model at_short { input q : f16[6, 2, 12, 32]; input k : f16[6, 2, 12, 32]; input v : f16[6, 2, 12, 32]; output y = attention(q, k, v); }
model at_shorter { input x : f16[5, 7, 3, 2, 16]; q[n, h, s, d] = x[n, s, 0, h, d]; k[n, h, s, d] = x[n, s, 1, h, d]; v[n, h, s, d] = x[n, s, 2, h, d]; a = attention(q, k, v, causal = true); output y[n, s, h, d] = a[n, h, s, d]; }
model at_few_keys { input q : f16[2, 3, 90, 32]; input k : f16[2, 3, 5, 32]; input v : f16[2, 3, 5, 32]; input m : f16[90, 5]; output y = attention(q, k, v, m); }
