model maxpool1d {
  type E = f16;
  input x : E[32,256,8192];
  output y[n,c,p in 0..4096] = max(r in 0..2) x[n,c,2*p+r];
}
