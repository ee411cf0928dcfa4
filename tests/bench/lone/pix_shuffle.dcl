model pix_shuffle {
  type E = f16;
  input x : E[16,256,64,64];
  output y[n,c in 0..64,h in 0..128,w in 0..128] = x[n,c*4+h%2*2+w%2,h/2,w/2];
}
