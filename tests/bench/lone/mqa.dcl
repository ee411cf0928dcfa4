model mqa {
  type E = f16;
  input q : E[4,16,1024,64];
  input k : E[4,1024,64];
  input v : E[4,1024,64];
  s[b,h,i,j] : f32 = j <= i ? sum(d) q[b,h,i,d]*k[b,j,d]*0.125 : -inf;
  p : E = softmax(s);
  output o[b,h,i,d] = sum(j) p[b,h,i,j]*v[b,j,d];
}
