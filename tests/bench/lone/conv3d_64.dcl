model conv3d_64 {
  type E = f16;
  input x : E[2,64,16,56,56];
  param w : E[64,64,3,3,3];
  param b : E[64];
  output y = relu(conv3d(x, w, b, pad=1));
}
