model far_axes_swap {
  type E = f16;
  input a : E[64,512,64];
  input b : E[64,64,512];
  output y[i,k] = sum(p,q) a[p,i,q] * b[q,p,k];
}
