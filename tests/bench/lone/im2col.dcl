model im2col {
  type E = f16;
  input x : E[8,64,56,56];
  output y[n,p in 0..56,q in 0..56,c,r in 0..3,s in 0..3] = x[n,c,p+r-1,q+s-1] or 0;
}
