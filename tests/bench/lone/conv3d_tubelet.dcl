model conv3d_tubelet {
  type E = f16;
  input x : E[4,3,16,224,224];
  param w : E[768,3,2,16,16];
  output y = conv3d(x, w, stride=[2,16,16]);
}
