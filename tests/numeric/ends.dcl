// Inputs and outputs that lie otherwise than kernels want them: channels first.

// ragged channels and images, a residual that is an input too
model residual {
  input x : f16[2, 24, 13, 11];
  param w : f16[40, 24, 3, 3];
  param v : f16[24, 40, 3, 3];
  param b : f16[40];
  h = relu(conv2d(x, w, b, pad = 1));
  output y = relu(conv2d(h, v, pad = 1) + x);
}

// an output that is read inside, and one behind a pool
model down {
  input x : f16[1, 32, 18, 14];
  input r : f16[1, 36, 18, 14];
  param w : f16[36, 32, 3, 3];
  h = relu(conv2d(x, w, pad = 1)) + r;
  output y = max_pool(h, kernel = 2);
  output h;
  output m[n, c] = mean(i, j) h[n, c, i, j];
}

// one dimension and three, groups, steps between taps
model others {
  input x : f16[2, 40, 67];
  input z : f32[1, 16, 5, 9, 7];
  input g : bf16[2, 64, 12, 10];
  param w : f16[33, 40, 5];
  param v : f32[24, 16, 3, 3, 3];
  param u : bf16[64, 8, 3, 3];
  output a = relu(conv1d(x, w, pad = 2));
  output b = conv3d(z, v, pad = 1);
  output c = conv2d(g, u, pad = 2, dilation = 2, groups = 8);
}

// channels that are not summed, and results between the inputs
model apart {
  input x : f16[2, 48, 15, 17];
  input z : f16[1, 32, 8, 9];
  param w : f16[48, 1, 3, 3];
  param v : f16[32, 16, 4, 4];
  output y = relu(conv2d(x, w, pad = 1, groups = 48));
  output u = conv_transpose2d(z, v, stride = 2, pad = 1);
}

// an output in parts, and one that lies as it is read
model parts {
  input x : f16[2, 32, 10, 12];
  param w : f16[16, 32, 3, 3];
  param v : f16[16, 32, 1, 1];
  a = conv2d(x, w, pad = 1);
  b = conv2d(x, v);
  output y = relu(concat(a, b, axis = 1));
}

// rows that do not end with a whole vector
model ragged {
  input a : f16[70, 131];
  input b : f16[131, 77];
  input x : bf16[66, 101];
  param w : bf16[40, 101];
  param c : bf16[40];
  output y = matmul(a, b);
  output z = relu(linear(x, w, c));
}
