model trailing_axes2 {
  type E = f16;
  input a : E[512,64,64];
  input b : E[512,64,64];
  output y[i,k] = sum(p,q) a[i,p,q] * b[k,p,q];
}
