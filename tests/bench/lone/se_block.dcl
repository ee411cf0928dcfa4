model se_block {
  type E = f16;
  input x : E[32,256,56,56];
  param w1 : E[16,256];
  param w2 : E[256,16];
  s = global_avg_pool(x);
  e = sigmoid(linear(relu(linear(s, w1)), w2));
  output y[n,c,h,w] = x[n,c,h,w]*e[n,c];
}
