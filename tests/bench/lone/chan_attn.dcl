model chan_attn {
  type E = f16;
  input q : E[8,256,4096];
  input k : E[8,256,4096];
  input v : E[8,256,4096];
  s[b,i,j] : f32 = sum(n) q[b,i,n]*k[b,j,n] * 0.0156;
  p : E = softmax(s);
  output o[b,i,n] = sum(j) p[b,i,j]*v[b,j,n];
}
