// What an affine condition masks is neither read nor, where nobody reads it,
// computed: tiles above a diagonal, rows from some column on.
model mk_causal { input q : f16[2, 200, 64]; input k : f16[2, 200, 64]; input v : f16[2, 200, 32]; output a = attention(q, k, v, causal = true); }
model mk_causal_f32 { input q : f32[150, 24]; input k : f32[150, 24]; input v : f32[150, 16]; output a = attention(q, k, v, causal = true); }
model mk_window {
  input q : f16[170, 64]; input k : f16[170, 64]; input v : f16[170, 40];
  @nofuse t[i, j] : f32 = sum(d) q[i, d] * k[j, d];
  s[i, j] : f32 = j > i || i - j > 20 ? -inf : t[i, j];
  p : f16 = softmax(s);
  output a = matmul(p, v);
}
model mk_upper {
  input a : f16[136, 64]; input b : f16[136, 64];
  @nofuse t[i, j] : f32 = sum(d) a[i, d] * b[j, d];
  output y[i] = sum(j) (j >= i ? t[i, j] * t[i, j] : 0);
}
model mk_two_readers {
  input a : f16[2, 140, 64]; input b : f16[2, 136, 64];
  @nofuse t[n, i, j] : f32 = sum(d) a[n, i, d] * b[n, j, d];
  output y[n, i] = max(j) (j <= i ? t[n, i, j] : 0);
  output z[n, j] = sum(i) (j <= i ? t[n, i, j] : 1);
}
model mk_one_reader_of_all {
  input a : f16[140, 64]; input b : f16[136, 64];
  @nofuse t[i, j] : f32 = sum(d) a[i, d] * b[j, d];
  output y[i] = max(j) (j <= i ? t[i, j] : 0);
  output z[i] = sum(j) t[i, j];
}
model ga_masked { input q : f32[2, 6, 5, 8]; input k : f32[2, 3, 7, 8]; input v : f32[2, 3, 7, 4]; input m : f32[2, 6, 5, 7]; output y = grouped_attention(q, k, v, m); }
model ga_one { input q : f32[6, 5, 8]; input k : f32[1, 7, 8]; input v : f32[1, 7, 4]; output y = grouped_attention(q, k, v, scale = 1); }
// Read before the sums are done, along the batch's variable.
model mk_keys_of_batch {
  input q : f32[2, 3, 64, 32]; input k : f32[2, 3, 64, 32]; input v : f32[2, 3, 64, 16];
  input m : i32[2, 64] in 0..2;
  b[i, j, k, l] : f32[2, 1, 64, 64] = (1 - f32(m[i, l])) * -3.4028235e38;
  output y = attention(q, k, v, b);
}
// a distance, and blocks, which an affine condition holds around
model mk_distance { input q : f16[2, 270, 32]; input k : f16[2, 270, 32]; input v : f16[2, 270, 32]; s[b, i, j] : f32 = abs(i - j) <= 20 ? sum(d) q[b, i, d] * k[b, j, d] : -inf; p : f16 = softmax(s); output a = matmul(p, v); }
model mk_blocks { input q : f16[2, 270, 32]; input k : f16[2, 270, 32]; input v : f16[2, 270, 32]; s[b, i, j] : f32 = i / 30 == j / 30 ? sum(d) q[b, i, d] * k[b, j, d] : -inf; p : f16 = softmax(s); output a = matmul(p, v); }
