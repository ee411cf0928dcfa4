// Two convolutions are one, and what they make lies along pixels for the sums over
// these: the parts of the stack go outside of channels, so that pixels stay one
// number.
model both {
  dim B = 4;
  input x : f16[B, 64, 32, 32];
  param v : f16[128, 64, 3, 3];
  param w : f16[128, 64, 3, 3];
  param k : f16[128, 128, 1, 1];
  a = relu(conv2d(x, v, pad = 1));
  c = relu(conv2d(x, w, pad = 1));
  z = reshape(c, shape = [B, 128, 1024]);
  e = softmax(matmul(z, transpose(z, perm = [0, 2, 1])));
  u = reshape(matmul(e, z), shape = [B, 128, 32, 32]);
  output y = u + conv2d(a, k) + a + c;
}
