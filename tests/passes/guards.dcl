// A condition on indices around a read is the read's guard.
model guards {
  input x : f32[9];
  output y[i in 0..12] = i >= 2 && i < 10 ? (x[i - 2] or 0) : 0;
  output z[i in 0..9] = i % 2 == 0 ? x[i / 2] : 1;
}
