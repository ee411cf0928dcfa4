model mse_loss {
  type E = f16;
  input x : E[4096,4096];
  input t : E[4096,4096];
  output y = mse(x, t);
}
