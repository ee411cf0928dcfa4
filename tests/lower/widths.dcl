// Indices that 64 bits do not hold, or that are too large.
model m {
  input x : f32[9];
  output y[i in 0..50] = x[i * 9223372036854775807 * 4 % 9];
  output z[i in 0..50] = x[(i * 3000000000 * 3000000000 + 1) / 3 % 9];
  a[i in 0..50] = i * 9223372036854775807;
  output b[i] = a[i] + 1;
}
