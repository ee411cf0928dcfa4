// Sums of a product's factor, which its kernel makes besides.

// a bias's gradient with its weight's: the factor of rows
model bias_of_rows {
  input x : f16[1000, 136];
  input dy : f16[1000, 200];
  input rate : f32;
  state w : f16[200, 136] = 0.5;
  state b : f32[200] = 0;
  w[o, i] = w[o, i] - rate * sum(r) dy[r, o] * x[r, i];
  b[o] = b[o] - rate * sum(r) dy[r, o];
  output v[o] = 2 * b[o];
}

// the factor of columns, as rows of an image and heads of a bias
model bias_of_heads {
  input x : f16[4, 150, 72];
  input dy : f16[4, 150, 200];
  output w[i, o] = sum(b, r) dy[b, r, o] * x[b, r, i];
  output s[h in 0..5, j in 0..40] = 3 * sum(b, r) dy[b, r, 40 * h + j];
}

// what is summed is made with the sum: a gelu's gradient
model gelu_gradient {
  input x : f16[520, 64];
  input y : f16[520, 96];
  input g : f16[520, 80];
  param v : f16[96, 80];
  d[r, o] : f16 = (y[r, o] > 0 ? y[r, o] * exp(-y[r, o]) : 0.1) * sum(k) g[r, k] * v[o, k];
  output w[o, i] = sum(r) d[r, o] * x[r, i];
  output b[o] = 1 - sum(r) d[r, o];
}
