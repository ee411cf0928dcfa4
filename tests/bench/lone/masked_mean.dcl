model masked_mean {
  type E = f16;
  input x : E[64,512,768];
  input m : E[64,512];
  c[b] : f32 = sum(s) m[b,s];
  output y[b,d] : E = (sum(s) f32(x[b,s,d])*m[b,s]) / max(c[b],1e-9);
}
