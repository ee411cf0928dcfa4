model m {
  input x : f32[4, 8];
  input t : f32[4, 3];
  param w : f32[3, 8];
  loss = mse(linear(x, w), t);
  w = w - 0.1 * grad(loss, w);
  output loss;
}
