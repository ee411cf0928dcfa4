// Weights that are made at load time, as a standardised convolution's, are copied
// as their product wants them, like parameters; and rows of weights that are no
// whole number of vectors get padding.
model made_weights {
  input x : f16[2, 16, 8, 8];
  param w : f16[16, 16, 3, 3];
  param v : f16[8, 16, 3, 3];
  m[k] : f32 = mean(c, r, s) w[k, c, r, s];
  z[k, c, r, s] : f16 = w[k, c, r, s] - m[k];
  h = relu(conv2d(relu(x), z, pad = 1));
  output y = conv2d(h, v, pad = 1);
}
model ragged_weights {
  input x : f16[2, 44, 64];
  param w : f16[48, 44];
  output y = linear(transpose(x, perm = [0, 2, 1]), w);
}
