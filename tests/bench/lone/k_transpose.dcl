model k_transpose {
  type E = f16;
  input x : E[32,512,12,64];
  output y[b,h,d,s] = x[b,s,h,d];
}
