model efficient_attn {
  type E = f16;
  input q : E[8,8,4096,32];
  input k : E[8,8,4096,32];
  input v : E[8,8,4096,32];
  qs = softmax(q, axis=-1);
  ks = softmax(k, axis=-2);
  c[b,h,d,e] = sum(n) ks[b,h,n,d]*v[b,h,n,e];
  output y[b,h,n,e] = sum(d) qs[b,h,n,d]*c[b,h,d,e];
}
