model chan_shuffle {
  type E = f16;
  input x : E[64,256,28,28];
  output y[n,c in 0..256,h,w] = x[n,c%2*128+c/2,h,w];
}
