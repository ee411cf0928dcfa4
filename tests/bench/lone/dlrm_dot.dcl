model dlrm_dot {
  type E = f16;
  input x : E[2048,27,128];
  output y[b,i,j] = sum(d) x[b,i,d] * x[b,j,d];
}
