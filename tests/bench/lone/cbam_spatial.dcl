model cbam_spatial {
  type E = f16;
  input x : E[32,128,56,56];
  a[n,h,w] : f32 = mean(c) x[n,c,h,w];
  b[n,h,w] : f32 = max(c) x[n,c,h,w];
  output y[n,c,h,w] : E = x[n,c,h,w]*sigmoid(a[n,h,w]+b[n,h,w]);
}
