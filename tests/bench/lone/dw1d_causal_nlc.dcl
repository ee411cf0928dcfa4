model dw1d_causal_nlc {
  type E = f16;
  input x : E[8,2048,2048];
  param w : E[2048,4];
  param b : E[2048];
  output y[n,t in 0..2048,c] = silu(sum(r) (x[n,t+r-3,c] or 0)*w[c,r] + b[c]);
}
