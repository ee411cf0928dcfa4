// Rows that are long for registers, and lie in shared memory between passes.

model odd {
  input x : f16[2, 8197];
  output y = log_softmax(x);
  output m[i] = argmax(j) x[i, j];
}

// two inputs, of which one is needed once, and factors of the columns
model norms {
  input x : f32[3, 4100];
  input r : bf16[3, 4100];
  param g : f32[4100];
  output y = layer_norm(x + r, g) + r;
}

// by vectors; a row that is a part of a longer one, and columns of two indices
model parts {
  input x : f16[2, 3, 8, 1032];
  output y[i, j, k] = (x[i, 1, j, k] - (mean(a, b) x[i, 1, a, b])) / (1 + (max(a, b) abs(x[i, 1, a, b])));
}

// what is read under a condition, or by data, is not
model others {
  input x : f16[2, 8192];
  input at : i32[8192] in 0..8192;
  s[i] = sum(j) x[i, at[j]];
  output y[i, j] = x[i, at[j]] * s[i];
  t[i] = max(j in 0..8192) (x[i, j - 1] or 3);
  output z[i, j in 0..8192] = (x[i, j - 1] or 3) - t[i];
}
