model rope {
  type E = f16;
  input x : E[8,32,1024,128];
  input c : f32[1024,64];
  input s : f32[1024,64];
  output y[b,h,t,d] : E = d < 64 ? x[b,h,t,d]*c[t,d%64] - x[b,h,t,(d+64)%128]*s[t,d%64] : x[b,h,t,d]*c[t,d%64] + x[b,h,t,(d+64)%128]*s[t,d%64];
}
