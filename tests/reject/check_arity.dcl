model m {
  input x : f32[4, 4];
  a = relu(x, x);
  b = linear(x);
  c = exp(x, x);
  d = max(x);
  e[i] = sum(i);
  output y = x;
}
