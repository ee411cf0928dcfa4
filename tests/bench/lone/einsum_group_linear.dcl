model einsum_group_linear {
  type E = f16;
  input x : E[1024,32,64];
  param w : E[32,64,64];
  output y[n,g,o] = sum(i) x[n,g,i]*w[g,i,o];
}
