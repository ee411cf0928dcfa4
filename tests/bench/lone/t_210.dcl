model t_210 {
  type E = f16;
  input x : E[256,256,256];
  output y[k,j,i] = x[i,j,k];
}
