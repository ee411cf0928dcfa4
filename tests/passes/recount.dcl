// The gradient of a transposed convolution's weights sums over its input: a
// window of what comes back, as a convolution's is.
model transposed {
  input x : f16[4, 64, 8, 8];
  param w : f16[64, 32, 4, 4];
  y = conv_transpose2d(x, w, stride = 2, pad = 1);
  loss[] : f32 = sum(n, c, i, j) f32(y[n, c, i, j]) * y[n, c, i, j];
  output dw = grad(loss, w);
}
