model dice {
  type E = f16;
  input x : E[16,4,256,256];
  input t : E[16,4,256,256];
  p[n,c,h,w] : f32 = sigmoid(f32(x[n,c,h,w]));
  a[n,c] = sum(h,w) p[n,c,h,w]*t[n,c,h,w];
  b[n,c] = sum(h,w) p[n,c,h,w];
  d[n,c] : f32 = sum(h,w) t[n,c,h,w];
  output y[] = 1 - mean(n,c) (2*a[n,c]+1)/(b[n,c]+d[n,c]+1);
}
