model pix_unshuffle {
  type E = f16;
  input x : E[16,64,128,128];
  output y[n,c in 0..256,h in 0..64,w in 0..64] = x[n,c/4,h*2+c/2%2,w*2+c%2];
}
