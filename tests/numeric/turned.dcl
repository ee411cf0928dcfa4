// Products whose rows are columns of the result (contract_wgmma_turned): any
// number of rows, of both major orders, with what belongs to columns or rows.
model plain {
  param w : f16[200, 136];
  input x : f16[77, 136];
  output y[i, j] : f16 = sum(k) f32(x[i, k]) * f32(w[j, k]);
}
model bias_scale {
  param w : bf16[328, 72];
  param b : f32[328];
  input s : f32[265];
  input x : bf16[265, 72];
  output y[i, j] : bf16 = s[i] * relu((sum(k) f32(x[i, k]) * f32(w[j, k])) + b[j]);
}
model k_rows {
  param w : f16[200, 264];
  input x : f16[67, 200];
  output y[i, j] : f16 = gelu(sum(k) f32(x[i, k]) * f32(w[k, j]));
}
model k_both {
  input a : f16[328, 136];
  input b : f16[328, 72];
  output y[i, j] : f16 = sum(k) f32(a[k, i]) * f32(b[k, j]);
}
model two_rows {
  input x : f16[3, 35, 128];
  param w : f16[96, 128];
  output y[n, i, j] : f16 = sum(k) f32(x[n, i, k]) * f32(w[j, k]);
}
model computed { // there is no such one of it
  param w : f16[200, 136];
  input x : f16[77, 136];
  input s : f32[77];
  output y[i, j] : f16 = sum(k) (f32(x[i, k]) - s[i]) * f32(w[j, k]);
}
