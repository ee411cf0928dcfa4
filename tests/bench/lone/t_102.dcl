model t_102 {
  type E = f16;
  input x : E[512,256,256];
  output y[j,i,k] = x[i,j,k];
}
