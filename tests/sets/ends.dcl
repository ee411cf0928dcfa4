// Channels first, which an input's copy and an output's turn; and rows with
// padding behind them.
model net {
  dim N in {2, 5};
  input x : f16[N, 40, 16, 14];
  input a : f16[N, 50, 133];
  param w : f16[48, 40, 3, 3];
  param v : f16[64, 133];
  output y = relu(conv2d(x, w, pad = 1));
  output z = linear(a, v);
}
