// 16-bit weights that 2 to 16 rows are multiplied with lie along the sum: those
// that do not are packed. One row, many rows and f32 take them as they lie.
model few_rows {
  input one   : f16[1, 96];
  input few   : f16[16, 96];
  input many  : f16[17, 96];
  input exact : f32[16, 96];
  param w : f16[96, 64];
  param v : f16[64, 96];
  param f : f32[96, 64];
  output y0 = matmul(one, w);
  output y1 = matmul(few, w);
  output y2 = linear(few, v);
  output y3 = matmul(many, w);
  output y4 = matmul(exact, f);
}
