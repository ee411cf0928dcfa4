model mixed_axes {
  type E = f16;
  input a : E[32,128,16,64];
  input w : E[16,64,1024];
  output y[n,s,o] = sum(h,d) a[n,s,h,d] * w[h,d,o];
}
