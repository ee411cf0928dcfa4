model t_0312 {
  type E = f16;
  input x : E[32,56,56,256];
  output y[n,c,h,w] = x[n,h,w,c];
}
