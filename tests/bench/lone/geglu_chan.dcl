model geglu_chan {
  type E = f16;
  input x : E[16,256,64,64];
  output y[n,c in 0..128,h,w] = x[n,c,h,w]*gelu(x[n,128+c,h,w]);
}
