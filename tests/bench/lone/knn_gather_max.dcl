model knn_gather_max {
  type E = f16;
  input x : E[8,2048,128];
  input i : i32[8,2048,20] in 0..2048;
  output y[b,n,c] = max(k) x[b,i[b,n,k],c] - x[b,n,c];
}
