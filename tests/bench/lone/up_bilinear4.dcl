model up_bilinear4 {
  type E = f16;
  input x : E[8,32,128,128];
  output y = upsample(x, scale=4, mode="bilinear");
}
