model t_0231 {
  type E = f16;
  input x : E[32,256,56,56];
  output y[n,h,w,c] = x[n,c,h,w];
}
