model m {
  input x : f32[1, 3, 8, 8];
  a = softmax(x, axs = 1);
  b = max_pool(x, stride = 2);
  c = max_pool(x, kernel = [2, 2, 2]);
  d = softmax(x, axis = [1, 2]);
  e = softmax(x, axis = 1, axis = 2);
  f = relu(x, x = x);
  g = tanh(x = x);
  h = exp(x) as "a";
  output y = x;
}
