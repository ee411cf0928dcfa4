model t_small3 {
  type E = f16;
  input x : E[64,512,512,3];
  output y[n,c,h,w] = x[n,h,w,c];
}
