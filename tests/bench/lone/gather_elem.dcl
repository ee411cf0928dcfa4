model gather_elem {
  type E = f16;
  input x : E[65536,1024];
  input i : i32[65536] in 0..1024;
  output y[n] = x[n,i[n]];
}
