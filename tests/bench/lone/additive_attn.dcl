model additive_attn {
  type E = f16;
  input q : E[32,512];
  input k : E[32,512,512];
  param v : E[512];
  s[b,j] : f32 = sum(d) v[d]*tanh(f32(q[b,d])+k[b,j,d]);
  output p = softmax(s);
}
