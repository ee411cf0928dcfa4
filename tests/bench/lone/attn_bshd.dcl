model attn_bshd {
  type E = f16;
  input q : E[8,512,12,64];
  input k : E[8,512,12,64];
  input v : E[8,512,12,64];
  s[b,h,i,j] : f32 = sum(d) q[b,i,h,d]*k[b,j,h,d] * 0.125;
  p = softmax(s);
  output o[b,i,h,d] = sum(j) p[b,h,i,j]*v[b,j,h,d];
}
