model maxpool_nhwc {
  type E = f16;
  input x : E[32,112,112,64];
  t[n,c,h,w] = x[n,h,w,c];
  u = max_pool(t, kernel=3, stride=2, pad=1);
  output y[n,h,w,c] = u[n,c,h,w];
}
