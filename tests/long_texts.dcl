// Steps of which kernels were once longer than a reader follows (texts.sh).

// two batch norms' gradients, and what their sums update
block bn(x: T[N, C, ..]) -> y {
  param g : T[C] = "weight" or ones;
  param b : T[C] = "bias" or zeros;
  y = batch_norm_train(x, g, b) as "";
}
model norms {
  dim B = 32;  type E = f16;
  input x : E[B, 256, 7, 7];
  param w : E[512, 256, 1, 1];
  param v : E[512, 256, 1, 1];
  input t : E[B, 512, 7, 7];
  h = relu(bn(conv2d(x, w)) as "one" + bn(conv2d(x, v)) as "two");
  output loss = mse(h, t);
  for p in params { p = p - 0.01 * grad(loss * 64, p); }
}
