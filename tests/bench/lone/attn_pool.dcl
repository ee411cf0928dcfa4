model attn_pool {
  type E = f16;
  input x : E[64,1024,512];
  param w : E[512];
  s[b,i] : f32 = sum(d) x[b,i,d]*w[d];
  p = softmax(s);
  output y[b,d] : E = sum(i) p[b,i]*x[b,i,d];
}
