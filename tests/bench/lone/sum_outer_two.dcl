model sum_outer_two {
  type E = f16;
  input x : E[64,512,1024];
  output y[b] : f32 = sum(a,c) x[a,b,c];
}
