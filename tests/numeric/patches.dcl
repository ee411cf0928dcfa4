// Products whose windows do not overlap: the patches may go into rows of their
// own, ahead of them.

model image {
  input x : f16[2, 3, 32, 48];
  param w : f16[40, 3, 8, 8];
  param b : f16[40];
  output y = relu(conv2d(x, w, b, stride = 8));
}

// channels last in the weights; rows and columns of the image are left out
model ragged {
  input x : bf16[2, 2, 37, 51];
  param w : bf16[33, 60];
  t[n, p in 0..48, e in 0..60] = x[n, e % 2, p / 8 * 6 + e / 10 + 1, p % 8 * 6 + e / 2 % 5 + 2];
  output y = linear(t, w);
}

model tubelets {
  input x : f16[1, 2, 4, 16, 16];
  param w : f16[32, 2, 2, 4, 4];
  output y = conv3d(x, w, stride = [2, 4, 4]);
}

// a factor that is computed, and one that is no parameter
model between {
  input x : f16[2, 4, 16, 32];
  input w : f16[48, 4, 4, 4];
  a = relu(x * 2);
  output a;
  output y = conv2d(a, w, stride = 4);
}
// windows of an image: rows as the image has them, results by windows
model pt_windows { type E = f16; input x : E[2, 28, 21, 64]; param w : E[96, 64]; param b : E[96];
  u[n, a in 0..4, r in 0..3, m in 0..49, c] = x[n, a * 7 + m / 7, r * 7 + m % 7, c];
  output y = linear(u, w, b); }
