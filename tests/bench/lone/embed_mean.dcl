model embed_mean {
  type E = f16;
  input ids : i32[4096,50] in 0..50000;
  param t : E[50000,256];
  output y[b,d] = mean(i) t[ids[b,i],d];
}
