model bn1d {
  type E = f16;
  input x : E[16384,1024];
  m[c] : f32 = mean(n) x[n,c];
  v[c] : f32 = mean(n) (x[n,c]-m[c])*(x[n,c]-m[c]);
  output y[n,c] : E = (x[n,c]-m[c])*rsqrt(v[c]+1e-5);
}
