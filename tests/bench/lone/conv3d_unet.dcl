model conv3d_unet {
  type E = f16;
  input x : E[1,32,64,64,64];
  param w : E[32,32,3,3,3];
  output y = conv3d(x, w, pad=1);
}
