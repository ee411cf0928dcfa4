// Rows that are long for registers, and lie in shared memory between passes.

model odd {
  input x : f16[3, 16389];
  output y = log_softmax(x);
  output m[i] = argmax(j) x[i, j];
}

// two inputs, and a factor of the columns: no vectors begin where rows do
model norms {
  input x : f32[2, 10245];
  input r : bf16[2, 10245];
  param g : f32[10245];
  output y = layer_norm(x + r, g) + r;
}

// parts of rows, by vectors from inside them, of two types
model inside {
  input x : f32[4, 2, 16390];
  u[i, j in 0..16386] = x[i, 1, j + 3];
  v[i, j in 0..16387] = x[i, 0, j + 1];
  m[i] = max(j) u[i, j];
  output z[i, j] : f16 = u[i, j] / m[i] - (sum(k) exp(u[i, k] - m[i]));
  output p = log_softmax(v);
}

// one row, from inside a vector
model one {
  input x : f16[16400];
  v[j in 0..16389] = x[j + 3];
  output y = softmax(v);
}

// columns of two indices
model parts {
  input x : f16[4, 3, 16, 1032];
  m[i] = max(a, b) x[i, 1, a, b];
  output y[i, j, k] = exp(x[i, 1, j, k] - m[i]) / (sum(a, b) exp(x[i, 1, a, b] - m[i]));
}

// what is read under a condition, or by data, is not
model others {
  input x : f16[2, 16392];
  input at : i32[16392] in 0..16392;
  s[i] = sum(j) x[i, at[j]];
  output y[i, j] = x[i, at[j]] * s[i];
  t[i] = max(j in 0..16392) (x[i, j - 1] or 3);
  output z[i, j in 0..16392] = (x[i, j - 1] or 3) - t[i];
}

// rows of a temporary, with padding behind them: vectors that end in it
model padded {
  input x : f16[6, 40];
  input w : f16[16389, 40];
  z = linear(x, w);
  output y = log_softmax(z);
}

// rows of which a sector has several: they lie there as in memory
model beside {
  input x : f16[2, 33, 34, 16];
  param g : f16[16];
  param b : f16[16];
  t[n, c, h, w] = x[n, h, w, c];
  u = silu(group_norm(t, g, b, groups=2));
  output y[n, h, w, c] = u[n, c, h, w];
}
model beside_words {
  input x : bf16[2, 33, 34, 32];
  t[n, c, h, w] = x[n, h, w, c];
  u = group_norm(t, groups=16);
  output y[n, h, w, c] = u[n, c, h, w];
}

// rows whose last vector ends in padding, and one element of each that is more
model labels {
  param x : f16[3, 8];
  param w : f16[16389, 8];
  input t : i32[3] in 0..16389;
  z = linear(x, w);
  output loss = cross_entropy(z, t);
  for v in params { v = v - grad(loss, v); }
}
