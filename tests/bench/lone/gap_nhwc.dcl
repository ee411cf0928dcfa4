model gap_nhwc {
  type E = f16;
  input x : E[128,14,14,1024];
  output y[n,c] = mean(h,w) x[n,h,w,c];
}
