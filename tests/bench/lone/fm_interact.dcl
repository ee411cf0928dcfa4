model fm_interact {
  type E = f16;
  input e : E[16384,39,16];
  s[b,d] : f32 = sum(f) e[b,f,d];
  q[b,d] : f32 = sum(f) f32(e[b,f,d])*e[b,f,d];
  output y[b] = 0.5*sum(d) (s[b,d]*s[b,d]-q[b,d]);
}
