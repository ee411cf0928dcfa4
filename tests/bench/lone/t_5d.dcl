model t_5d {
  type E = f16;
  input x : E[8,16,32,16,256];
  output y[a,d,b,e,c] = x[a,b,c,d,e];
}
