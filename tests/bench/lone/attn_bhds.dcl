model attn_bhds {
  type E = f16;
  input q : E[8,12,64,512];
  input k : E[8,12,64,512];
  input v : E[8,12,64,512];
  s[b,h,i,j] : f32 = sum(d) q[b,h,d,i]*k[b,h,d,j] * 0.125;
  p : E = softmax(s);
  output o[b,h,d,i] = sum(j) p[b,h,i,j]*v[b,h,d,j];
}
