model embed_bag {
  type E = f16;
  input ids : i32[8192,32] in 0..100000;
  param t : E[100000,128];
  output y[b,d] = sum(i) t[ids[b,i],d];
}
