model cov_pool {
  type E = f16;
  input x : E[16,256,784];
  m[b,c] : f32 = mean(s) x[b,c,s];
  y0[b,c,s] : E = x[b,c,s]-m[b,c];
  output y[b,i,j] : f32 = sum(s) y0[b,i,s]*y0[b,j,s]/784;
}
