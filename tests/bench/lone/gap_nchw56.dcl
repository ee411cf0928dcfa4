model gap_nchw56 {
  type E = f16;
  input x : E[64,256,56,56];
  output y = global_avg_pool(x);
}
