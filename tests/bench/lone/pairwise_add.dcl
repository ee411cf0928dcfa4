model pairwise_add {
  type E = f16;
  input a : E[8,256,64];
  input b : E[8,256,64];
  output y[n,i,j,d] = relu(a[n,i,d]+b[n,j,d]);
}
