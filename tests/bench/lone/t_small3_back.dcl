model t_small3_back {
  type E = f16;
  input x : E[64,3,512,512];
  output y[n,h,w,c] = x[n,c,h,w];
}
