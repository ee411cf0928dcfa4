model up_add_fpn {
  type E = f16;
  input x : E[16,256,32,32];
  input l : E[16,256,64,64];
  output y = upsample(x) + l;
}
