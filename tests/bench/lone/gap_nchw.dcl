model gap_nchw {
  type E = f16;
  input x : E[128,2048,7,7];
  output y = global_avg_pool(x);
}
