model var_all {
  type E = f16;
  input x : E[8192,4096];
  m[] : f32 = mean(i,j) x[i,j];
  output v[] : f32 = mean(i,j) (x[i,j]-m)*(x[i,j]-m);
}
