model dw1d_causal_ncl {
  type E = f16;
  input x : E[8,2048,2048];
  param w : E[2048,4];
  param b : E[2048];
  output y[n,c,t in 0..2048] = silu(sum(r) (x[n,c,t+r-3] or 0)*w[c,r] + b[c]);
}
