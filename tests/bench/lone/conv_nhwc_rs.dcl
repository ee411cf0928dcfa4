model conv_nhwc_rs {
  type E = f16;
  input x : E[32,28,28,256];
  param w : E[3,3,256,256];
  output y[n,p in 0..28,q in 0..28,k] = relu(sum(r,s,c) (x[n,p+r-1,q+s-1,c] or 0)*w[r,s,c,k]);
}
