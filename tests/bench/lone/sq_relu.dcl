model sq_relu {
  type E = f16;
  input x : E[4096,1024];
  param w : E[4096,1024];
  param v : E[1024,4096];
  h = relu(linear(x, w));
  output y = linear(h*h, v);
}
