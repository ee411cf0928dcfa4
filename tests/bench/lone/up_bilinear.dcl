model up_bilinear {
  type E = f16;
  input x : E[16,128,64,64];
  output y = upsample(x, mode="bilinear");
}
