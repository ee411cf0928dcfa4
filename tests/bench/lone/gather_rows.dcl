model gather_rows {
  type E = f16;
  input x : E[65536,256];
  input i : i32[65536] in 0..65536;
  output y[n,d] = x[i[n],d];
}
