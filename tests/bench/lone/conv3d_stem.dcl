model conv3d_stem {
  type E = f16;
  input x : E[4,3,16,112,112];
  param w : E[64,3,3,7,7];
  output y = conv3d(x, w, stride=[1,2,2], pad=[1,3,3]);
}
