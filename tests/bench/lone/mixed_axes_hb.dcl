model mixed_axes_hb {
  type E = f16;
  input a : E[32,16,128,64];
  input w : E[16,64,1024];
  output y[n,s,o] = sum(h,d) a[n,h,s,d] * w[h,d,o];
}
