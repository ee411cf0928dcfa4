model up_nearest_nhwc {
  type E = f16;
  input x : E[16,64,64,128];
  output y[n,h in 0..128,w in 0..128,c] = x[n,h/2,w/2,c];
}
