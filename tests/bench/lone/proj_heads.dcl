model proj_heads {
  type E = f16;
  input x : E[32,128,1024];
  input w : E[1024,16,64];
  output y[n,h,s,d] = sum(c) x[n,s,c] * w[c,h,d];
}
