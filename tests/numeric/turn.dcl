// Results that lie along another index than what they are made of.

// channels first to channels last, and back
model last {
  input x : f16[2, 40, 12, 20];
  input z : f16[2, 12, 20, 40];
  output y[n, i, j, c] = relu(x[n, c, i, j]);
  output w[n, c, i, j] = z[n, i, j, c] + x[n, c, i, j];
}

// odd extents, of which no vector is a part, and few channels
model odd {
  input x : f16[37, 53];
  input z : f32[3, 3, 31, 29];
  input q : bf16[5, 7, 7, 24];
  output y[i, j] = x[j, i] * 2;
  output w[n, i, j, c] = z[n, c, i, j];
  output v[n, c, i, j] = q[n, i, j, c];
}

// both ways of one tensor
model both {
  input x : f32[72, 72];
  output y[i, j] = x[i, j] + x[j, i];
  output g[i, j] = exp(x[j, i] - x[i, j]);
}

// bytes, truth values and integers
model small {
  input x : i8[64, 96];
  input z : u8[50, 34];
  input b : bool[48, 32];
  input k : i32[33, 65];
  output y[i, j] = x[j, i];
  output w[i, j] : f16 = z[j, i] / 4;
  output c[i, j] = !b[j, i];
  output m[i, j] = k[j, i] * 3;
}

// pixels from channels, and the reverse
model shuffle {
  input x : f16[2, 8, 24, 32];
  input z : f16[2, 4, 24, 32];
  output y[n, c in 0..2, i in 0..48, j in 0..64] = x[n, c * 4 + i % 2 * 2 + j % 2, i / 2, j / 2];
  output w[n, c in 0..16, i in 0..12, j in 0..16] = z[n, c / 4, i * 2 + c % 4 / 2, j * 2 + c % 2];
}

// a row of the other side, and what is gathered, beside what is turned
model beside {
  input x : f16[64, 80];
  input b : f16[64];
  input s : f32[80];
  input at : i32[80] in 0..80;
  output y[i, j] = x[j, i] * b[j] + s[i] + s[at[i]];
  h[i, j] = x[j, i] - 1;
  output z[i, j] = h[i, j] * h[i, j];
  output h;
}

// tiles stored across: vectors on both sides, of 2 and 4 bytes, with edges of
// tiles beyond the tensor and more indices than two in a tile
model across {
  input x : bf16[2, 136, 24, 8];
  input z : f32[3, 20, 5, 44];
  input k : i32[36, 68];
  input h : f16[72, 264];
  output y[n, i, j, c] = x[n, c, i, j] + 1;
  output w[n, i, j, c] : f16 = z[n, c, i, j] * 2;
  output m[i, j] = k[j, i] - 3;
  output g[i, j] : f32 = h[j, i] * h[j, i];
  output u[i, n, c, j] = x[n, c, i, j];
}

// results of products that are neighbours of a batch, read along it
model astride {
  input a : f16[2, 24, 40, 16];
  input b : f16[2, 32, 40, 16];
  param w : f16[16, 16];
  t[n, i, j, c] = sum(k) a[n, i, k, c] * b[n, j, k, c];
  output y = linear(layer_norm(t), w);
  u[i, j, c] : f32 = sum(k) a[0, i, k, c] * b[1, j, k, c];
  v[i, j, c] : bf16 = relu(u[i, j, c]);
  output z = softmax(v);
}
// by a quarter, from the end on
model tn_quarter { input x : f32[3, 40, 72]; output y[n, i in 0..72, j in 0..40] = x[n, j, 71 - i]; }
model tn_half_turned { input x : f16[64, 96]; output y[i in 0..96, j in 0..64] = x[63 - j, 95 - i] * 2; }
model tn_back_last { input x : f16[2, 12, 33, 50]; output y[n, i in 0..50, j in 0..33, c] = x[n, c, 32 - j, 49 - i]; }
model tn_both_ways { input x : f32[48, 64]; output y[i in 0..64, j in 0..48] = x[j, 63 - i] + x[j, i]; }
