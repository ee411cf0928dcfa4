model sum_cols {
  type E = f16;
  input x : E[65536,1024];
  output y[j] : f32 = sum(i) x[i,j];
}
