model argmax_nhwc {
  type E = f16;
  input x : E[8,512,512,21];
  output y[n,h,w] = argmax(c) x[n,h,w,c];
}
