model t_2d {
  type E = f16;
  input x : E[8192,4096];
  output y[j,i] = x[i,j];
}
