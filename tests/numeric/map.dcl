// Elementwise statements: every element type, ragged shapes, several outputs.
model map_f32_prime { input x : f32[7, 13]; output y[i, j] = 2 * x[i, j] + 1; }
model map_f16_prime { input x : f16[7, 13]; output y[i, j] = 2 * x[i, j] + 1; }
model map_bf16_prime { input x : bf16[7, 13]; output y[i, j] = 2 * x[i, j] + 1; }
model map_i8 { input x : i8[5, 33]; output y[i, j] = x[i, j] * 3 - 7; }
model map_i32 { input x : i32[5, 33]; output y[i, j] = x[i, j] * 3 - 7; }
model map_bool { input x : f32[37]; output y[i] = x[i] > 0 && x[i] < 1 || x[i] < -1; }
model map_one { input x : f32[1]; output y[i] = exp(x[i]); }
model map_scalar { input x : f32; output y[] = x * x + 1; }
model map_aligned { input x : f16[16, 256]; input z : f16[16, 256]; output y = relu(x + z); }
model map_row_broadcast {
  input x : f32[9, 31];
  input a : f32[31];
  input b : f32[9];
  output y[i, j] = x[i, j] * a[j] + b[i];
}
model map_numpy_broadcast {
  input x : f32[5, 1, 7];
  input z : f32[3, 1];
  output y = x * z - 1;
}
model map_mixed_types {
  input x : f16[6, 11];
  input z : bf16[6, 11];
  input k : i8[6, 11];
  output y = x + z * k;
}
model map_two_outputs {
  input x : f32[4, 29];
  a = sigmoid(x);
  output y = a * x;
  output z = 1 - a;
}
model map_transposed { input x : f32[13, 35]; output y[j, i] = x[i, j] + 1; }
model map_transposed_f16 { input x : f16[64, 40]; output y[j, i] = x[i, j]; }
model map_rank4 {
  input x : f32[2, 3, 5, 7];
  output y[a, b, c, d] = x[a, b, c, d] + a * 1000 + b * 100 + c * 10 + d;
}
model map_large { input x : f16[67, 129]; output y = gelu(x); }
model map_chain {
  input x : f16[3, 50];
  @nofuse a = x * 2;
  @nofuse b = a + 1;
  output y = b * b;
}
model map_param_only {
  input x : f32[8];
  param w : f32[8];
  param v : f32[8];
  s[i] = sqrt(w[i]) * v[i];
  output y[i] = x[i] * s[i];
}
model map_constant { input x : f32[5]; c : f32[5] = 3; output y[i] = x[i] * c[i]; }
model map_index_value { input x : f32[6, 10]; output y[i, j] = j > i ? x[i, j] : 0; }
model map_same_twice { input x : f32[17]; output y[i] = x[i] * x[i]; output z[i in 0..17] = x[16 - i]; }

// Rows of few elements, one behind the other, are one row: of results, of what
// is summed, and with another order on one side.
model rows_in_one {
  input x : f16[3, 8, 14, 6];
  input h : f32[3, 8, 5, 12];
  param g : f16[8];
  output y[n, c, i, j] = relu(x[n, c, i, j] * g[c]) + 1;
  output m[n, c] : f32 = mean(i, j) x[n, c, i, j];
  output t[n, i, j, c] = x[n, c, i, j] + g[c];
  v[n, i, j] : f32 = max(c) h[n, c, i, j];
  output z[n, c, i, j] = exp(h[n, c, i, j] - v[n, i, j]);
  output k[n, c, i, j] = h[n, c, i, j] + i - j;
  output s[n, c, i, j in 0..11] = h[n, c, i, j + 1];
}
// signs of integers, in a gradient too
model mp_signs {
  input x : f32[6];
  input n : i32[6] in -9..9;
  output y[i] = f32(abs(n[i]) - (-n[i]) / 2) * x[i] + f32(-n[i] % 5) * x[i] * x[i];
}

// values of groups of channels that no vector ends with: of 10, of 2 within 6
model ma_groups {
  input x : f16[2, 5, 6, 40]; input m : f32[2, 4]; input s : f32[2, 4]; param g : f16[40];
  output y[n, h, w, c] = (x[n, h, w, c] - m[n, c / 10]) * s[n, c / 10] * g[c];
  input a : f32[3, 7, 24]; input b : f32[3, 12]; input d : f32[4];
  output z[n, i, c] = a[n, i, c] * b[n, c / 2] + d[c / 6];
}
