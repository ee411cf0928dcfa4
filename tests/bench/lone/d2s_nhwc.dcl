model d2s_nhwc {
  type E = f16;
  input x : E[16,64,64,256];
  output y[n,h in 0..128,w in 0..128,c in 0..64] = x[n,h/2,w/2,(h%2*2+w%2)*64+c];
}
