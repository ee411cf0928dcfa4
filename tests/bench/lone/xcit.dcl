model xcit {
  type E = f16;
  input q : E[16,8,48,784];
  input k : E[16,8,48,784];
  input v : E[16,8,48,784];
  param t : E[8];
  qs[b,h,i] : f32 = sum(n) f32(q[b,h,i,n])*q[b,h,i,n];
  ks[b,h,i] : f32 = sum(n) f32(k[b,h,i,n])*k[b,h,i,n];
  qn[b,h,i,n] : E = q[b,h,i,n]*rsqrt(qs[b,h,i]+1e-12);
  kn[b,h,i,n] : E = k[b,h,i,n]*rsqrt(ks[b,h,i]+1e-12);
  s[b,h,i,j] : f32 = (sum(n) qn[b,h,i,n]*kn[b,h,j,n]) * t[h];
  p : E = softmax(s);
  output o[b,h,i,n] = sum(j) p[b,h,i,j]*v[b,h,j,n];
}
