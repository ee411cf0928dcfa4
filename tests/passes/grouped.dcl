// A group norm reduces over images: what walks alone in it are the images of a
// batch, which are no channels. The convolutions around it want channels
// innermost, and what they say is all that is said.
model grouped {
  input x : f16[8, 16, 6, 3];
  param w : f16[16, 16, 3, 3];
  param v : f16[16, 16, 3, 3];
  h = relu(group_norm(conv2d(x, w, pad = 1), groups = 4));
  output y = conv2d(h, v, pad = 1);
}
