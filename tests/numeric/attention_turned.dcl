// Factors that lie along the rows and columns of the scores, and results that
// lie along rows: copies of them are what a chain takes and makes (ends.h).
model tu_all {
  input q : f16[2, 3, 64, 104];
  input k : f16[2, 3, 64, 72];
  input v : f16[2, 3, 64, 72];
  s[b, h, i, j] : f32 = sum(d) q[b, h, d, i] * k[b, h, d, j] * 0.125;
  p : f16 = softmax(s);
  output o[b, h, d, i] = sum(j) p[b, h, i, j] * v[b, h, d, j];
}
model tu_keys {
  input q : bf16[2, 99, 40];
  input k : bf16[2, 40, 72];
  input v : bf16[2, 72, 48];
  s[b, i, j] : f32 = j <= i ? sum(d) q[b, i, d] * k[b, d, j] : -inf;
  p : bf16 = softmax(s);
  output o[b, i, e] = sum(j) p[b, i, j] * v[b, j, e];
}
