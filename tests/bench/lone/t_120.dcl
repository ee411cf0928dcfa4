model t_120 {
  type E = f16;
  input x : E[128,512,512];
  output y[j,k,i] = x[i,j,k];
}
