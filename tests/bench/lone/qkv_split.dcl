model qkv_split {
  type E = f16;
  input x : E[32,512,2304];
  output q[b,h in 0..12,s,d in 0..64] = x[b,s,h*64+d];
  output k[b,h in 0..12,s,d in 0..64] = x[b,s,768+h*64+d];
  output v[b,h in 0..12,s,d in 0..64] = x[b,s,1536+h*64+d];
}
