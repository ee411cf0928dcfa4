model rope_pairs {
  type E = f16;
  input x : E[8,1024,32,128];
  input c : f32[1024,64];
  input s : f32[1024,64];
  output y[b,t,h,d] : E = x[b,t,h,d]*c[t,d/2] + (d%2 == 0 ? -x[b,t,h,d/2*2+1] : f32(x[b,t,h,d/2*2]))*s[t,d/2];
}
