// Contractions that TMA and wgmma can take: ragged tiles, both major orders,
// batches, windows with padding and strides, several outputs.
model wg_ragged { input x : f16[300, 416]; param w : f16[200, 416]; param b : f16[200]; output y = relu(linear(x, w, b)); }
model wg_deep { input x : bf16[130, 1480]; param w : bf16[72, 1480]; output y = linear(x, w); }
model wg_k_tail { input x : f16[70, 72]; param w : f16[40, 72]; output y : f32[70, 40] = linear(x, w); }
model wg_mn_b { input x : f16[150, 200]; input z : f16[200, 136]; output y = matmul(x, z); }
model wg_mn_a { input x : f16[200, 152]; input z : f16[136, 200]; output y[i, j] = sum(k) x[k, i] * z[j, k]; }
model wg_mn_both { input x : bf16[136, 72]; input z : bf16[136, 200]; output y[i, j] = sum(k) x[k, i] * z[k, j]; }
model wg_odd_out { input x : f16[65, 64]; param w : f16[33, 64]; output y = linear(x, w); }
// Lines that begin at any element: of every 8th row, or 16th, they begin alike.
model wg_odd_lines { input x : f16[2, 512, 24]; param w : f16[37, 24]; output y = relu(linear(x, w)); }
model wg_odd_part { input x : f16[1024, 24]; param w : f16[37, 24]; input z : f16[1024, 6]; output y = concat(z, relu(linear(x, w)), axis = 1); }
// The last row of tiles begins where it ends with the rows: a row that two tiles
// have is added once to what is there, to a column's sum, and read unchanged.
model wg_again_added { input x : f16[200, 96]; param w : f16[96, 96]; state h : f16[200, 96] = 1; h = linear(x, w) + h; output y = h * 2; }
model wg_again_sums { input x : f16[100, 96]; param w : f16[96, 96]; y = linear(x, w); output y; output s[j] : f32 = sum(i) y[i, j]; }
model wg_again_state { input x : f16[100, 96]; param w : f16[96, 96]; state c : f16[96] = 1; y[i, j] = (sum(k) x[i, k] * w[j, k]) + c[j]; c[j] = y[99, j] * 0.5; output y; output z = c; }
model wg_again_row { input x : f16[100, 96]; param w : f16[96, 96]; state h : f16[100, 96] = 1; h[i, j] = (sum(k) x[i, k] * w[j, k]) + h[40, j]; output y = h * 1; }
model wg_again_factor { param w : f16[96, 96]; state h : f16[100, 96] = 0.5; h = linear(h, w); output y = h * 1; }
model wg_residual {
  input x : f16[2, 77, 128]; input r : f16[2, 77, 96]; param w : f16[96, 128]; param b : f16[96];
  output y = gelu(linear(x, w, b)) + r;
}
model wg_batched { input a : f16[3, 70, 96]; input b : f16[3, 40, 96]; output y[i, j, k] = sum(d) a[i, j, d] * b[i, k, d]; }
model wg_heads {
  input q : f16[2, 50, 4, 64]; input k : f16[2, 50, 4, 64];
  output s[b, h, i, j] = sum(d) q[b, i, h, d] * k[b, j, h, d];
}
model wg_values {
  input p : f16[2, 4, 40, 56]; input v : f16[2, 56, 4, 64];
  output y[b, i, h, d] = sum(j) p[b, h, i, j] * v[b, j, h, d];
}
model wg_two_k { input a : f16[40, 3, 64]; input b : f16[48, 3, 80]; output y[i, j] = sum(k in 0..3, l in 0..64) a[i, k, l] * b[j, k, l]; }
model wg_two_outputs {
  input x : f16[80, 64]; param w : f16[48, 64];
  z = linear(x, w);
  output y = relu(z);
  output s : f32[80, 48] = z * z;
}
model wg_few_terms { input x : f16[200, 24]; param w : f16[48, 24]; param b : f16[48]; output y = relu(linear(x, w, b)); }
model wg_8_terms { input x : bf16[200, 8]; param w : bf16[40, 8]; input r : bf16[200, 40]; output y = linear(x, w) + r; }
model wg_residual_rows { input x : f16[300, 96]; param w : f16[160, 96]; param b : f16[160]; input r : f16[300, 160]; output y = relu(linear(x, w, b) + r); }

// gelu on its way to 16 bits: of half a sum, of a scaled sum, of one that is
// read twice.
model wg_gelu { input x : f16[80, 512]; param w : f16[96, 512]; param b : f16[96]; output y = gelu(linear(x, w, b)); }
model wg_gelu_bf16 { input x : bf16[72, 768]; param w : bf16[40, 768]; param s : bf16[40]; param b : bf16[40]; y[i, j] = gelu(sum(k) x[i, k] * w[j, k] * s[j] + b[j]); output y; }
model wg_gelu_gate { input x : f16[64, 640]; param w : f16[32, 640]; input r : f16[64, 32]; h = linear(x, w) + r; output y = gelu(h) * h + gelu(r); }

// More tiles than blocks: weights whose rows are no whole lines come once.
model wg_stays { input x : f16[40000, 72]; param w : f16[24, 72]; param b : f16[24]; output y = relu(linear(x, w, b)); }
// And what a launch before makes.
model wg_stays_made { input x : f16[20000, 144]; input w : f16[24, 144]; input b : f16[24]; v = softmax(w); output y = relu(linear(x, v, b)); }

// A lane's neighbouring columns of a result in f32, with what belongs to them
// and to rows; columns that end inside a tile, of which tiles share a cluster.
model wg_neighbours { input x : f16[200, 96]; param w : f16[100, 96]; param b : f32[100]; input r : f32[200, 100]; output y[i, j] : f32 = relu((sum(k) x[i, k] * w[j, k]) + b[j]) + r[i, j]; }
model wg_neighbours_cut { input x : bf16[300, 136]; param w : bf16[328, 136]; param b : f32[328]; input s : bf16[300]; output y[i, j] = gelu(sum(k) x[i, k] * w[j, k] + b[j]) * s[i]; }

// Lanes exchange sums, some of them beyond the last column.
model wg_mn_b_rows { input x : f16[150, 200]; input z : f16[200, 136]; input r : f16[150, 136]; param b : f16[136]; output y[i, j] = relu((sum(k) x[i, k] * z[k, j]) + b[j]) + r[i, j]; }
model wg_mn_b_whole { input x : f16[150, 200]; input z : f16[200, 128]; input r : f16[150, 128]; param b : f16[128]; output y[i, j] = relu((sum(k) x[i, k] * z[k, j]) + b[j]) + r[i, j]; }

// k in leaps: tiles that are under way at one time come from far apart
model wg_leaps { input x : f16[40, 8192]; param w : f16[72, 8192]; param b : f16[72]; output y = relu(linear(x, w, b)); }
model wg_leaps_ahead { input x : f16[64, 8192]; input w : f16[136, 8192]; output y = linear(x, w); }
model wg_leaps_split { input x : bf16[40, 16384]; param w : bf16[32, 16384]; output y = linear(x, w); }

// Rows that begin inside a sector: blocks of a cluster share more of them.
model wg_split_rows { input x : f16[600, 200]; input w : f16[264, 200]; output y = linear(x, w); }
// Both factors lie across the sum, and tiles need not be whole boxes of them.
model wg_across { input x : f16[136, 200]; input g : f16[136, 232]; output y[n, k] = sum(i) x[i, n] * g[i, k]; }
model wg_across_bf16 { input x : bf16[72, 96]; input g : bf16[72, 104]; param b : f32[104]; output y[n, k] = relu((sum(i) x[i, n] * g[i, k]) + b[k]); }

// few columns, or rows: of a tile most is beyond them
model narrow {
  input a : f16[200, 72];
  input b : f16[8, 72];
  input c : bf16[2, 72, 8];
  input d : bf16[2, 72, 136];
  output y[i, k] = sum(j) a[i, j] * b[k, j];
  output z[n, i, k] : f32 = sum(j) c[n, j, i] * d[n, j, k];
}
