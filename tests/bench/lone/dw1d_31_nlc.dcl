model dw1d_31_nlc {
  type E = f16;
  input x : E[16,1600,512];
  param w : E[512,31];
  output y[n,t in 0..1600,c] = sum(r) (x[n,t+r-15,c] or 0)*w[c,r];
}
