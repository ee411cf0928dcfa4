model attn_sbh {
  type E = f16;
  input q : E[512,8,768];
  input k : E[512,8,768];
  input v : E[512,8,768];
  q4[b,h in 0..12,i,d in 0..64] = q[i,b,h*64+d]; k4[b,h in 0..12,i,d in 0..64] = k[i,b,h*64+d]; v4[b,h in 0..12,i,d in 0..64] = v[i,b,h*64+d];
  o4 = attention(q4,k4,v4);
  output o[i,b,e in 0..768] = o4[b,e/64,i,e%64];
}
