model far_axes {
  type E = f16;
  input a : E[64,512,64];
  input b : E[64,512,64];
  output y[i,k] = sum(p,q) a[p,i,q] * b[p,k,q];
}
