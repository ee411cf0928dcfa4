model up_nearest {
  type E = f16;
  input x : E[16,128,64,64];
  output y = upsample(x);
}
