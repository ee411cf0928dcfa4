model argmax_rows {
  type E = f16;
  input x : E[4096,32000];
  output y[i] = argmax(j) x[i,j];
}
