model linattn_E {
  type E = f16;
  input q : E[8,8,2048,64];
  input k : E[8,8,2048,64];
  input v : E[8,8,2048,64];
  fq = elu(q) + 1;
  fk = elu(k) + 1;
  kv[b,h,d,e] = sum(n) fk[b,h,n,d]*v[b,h,n,e];
  z[b,h,d] = sum(n) fk[b,h,n,d];
  den[b,h,n] : f32 = sum(d) fq[b,h,n,d]*z[b,h,d];
  output y[b,h,n,e] = (sum(d) fq[b,h,n,d]*kv[b,h,d,e]) / (den[b,h,n] + 1e-6);
}
