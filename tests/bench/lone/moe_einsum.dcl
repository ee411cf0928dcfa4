model moe_einsum {
  type E = f16;
  input x : E[8,512,1024];
  param w : E[8,1024,2048];
  output y[e,n,o] = relu(sum(i) x[e,n,i]*w[e,i,o]);
}
