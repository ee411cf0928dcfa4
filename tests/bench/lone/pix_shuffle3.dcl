model pix_shuffle3 {
  type E = f16;
  input x : E[8,36,128,128];
  output y[n,c in 0..4,h in 0..384,w in 0..384] = x[n,c*9+h%3*3+w%3,h/3,w/3];
}
