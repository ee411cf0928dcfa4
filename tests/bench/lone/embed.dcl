model embed {
  type E = f16;
  input ids : i32[32,512] in 0..50257;
  param t : E[50257,768];
  param p : E[512,768];
  output y[b,s,d] = t[ids[b,s],d]+p[s,d];
}
