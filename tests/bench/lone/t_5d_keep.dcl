model t_5d_keep {
  type E = f16;
  input x : E[8,16,16,32,256];
  output y[a,c,d,b,e] = x[a,b,c,d,e];
}
