model mean_pool_norm {
  type E = f16;
  input x : E[64,512,768];
  m[b,d] : f32 = mean(s) x[b,s,d];
  n[b] = sum(d) m[b,d]*m[b,d];
  output y[b,d] : E = m[b,d]*rsqrt(n[b]);
}
