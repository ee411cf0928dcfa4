model stat_pool {
  type E = f16;
  input x : E[64,512,1500];
  m[b,d] : f32 = mean(s) x[b,d,s];
  v[b,d] : f32 = mean(s) (x[b,d,s]-m[b,d])*(x[b,d,s]-m[b,d]);
  output y[b,d in 0..512] : f32 = m[b,d];
  output z[b,d in 0..512] : f32 = sqrt(v[b,d]);
}
