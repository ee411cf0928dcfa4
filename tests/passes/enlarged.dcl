// What channels lie fastest in is made larger, first along rows, and goes beside
// others into a convolution: all of that has channels fastest, though neither
// step is of its input's shape, and the convolution would do with either order.
// A result that lies as declared has what it is made of lie so.
model enlarged {
  input x : f16[2, 16, 8, 8];
  param w : f16[32, 16, 3, 3];
  param v : f16[32, 64, 1, 1];
  h = conv2d(x, w, pad = 1);
  u = upsample(h, scale = 2, mode = "bilinear");
  d[n, c, p in 0..16, q in 0..16] = h[n, c, p / 2, q / 2];
  output y = relu(conv2d(concat(u, d, axis = 1), v));
}
model shown {
  input x : f16[2, 16, 8, 8];
  param w : f16[8, 16, 1, 1];
  output y = upsample(conv2d(x, w), scale = 4, mode = "bilinear");
}
