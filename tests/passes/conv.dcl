// Between convolutions the channels are innermost; weights are packed to match; inputs and outputs stay.
model conv {
  input x : f16[1, 8, 10, 10];
  param w1 : f16[16, 8, 3, 3];
  param w2 : f16[16, 16, 3, 3];
  param w3 : f16[32, 16, 1, 1];
  a = relu(conv2d(x, w1, pad = 1));
  b = max_pool(a, kernel = 2);
  c = relu(conv2d(b, w2, pad = 1) + b);
  output y = conv2d(c, w3);
}
