model t_0213 {
  type E = f16;
  input x : E[32,512,16,64];
  output y[b,h,s,d] = x[b,s,h,d];
}
