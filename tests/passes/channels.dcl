// Images are no channels: however many there are, what a stem convolution
// writes for a depthwise one, and what a pool reads, has channels innermost.
model channels {
  input x : f16[64, 3, 8, 8];
  param w : f16[32, 3, 3, 3];
  param d : f16[32, 1, 3, 3];
  h = relu(conv2d(x, w, pad = 1));
  m = max_pool(relu(conv2d(h, d, pad = 1, groups = 32)), kernel = 2);
  output y = relu(m);
}
