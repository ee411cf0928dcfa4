model gru_cell {
  type E = f16;
  input x : E[512,1024];
  input h : E[512,1024];
  param wi : E[3072,1024];
  param wh : E[3072,1024];
  param bi : E[3072];
  param bh : E[3072];
  gi : f32 = linear(x, wi, bi);
  gh : f32 = linear(h, wh, bh);
  r[b,i in 0..1024] = sigmoid(gi[b,i]+gh[b,i]);
  z[b,i in 0..1024] = sigmoid(gi[b,1024+i]+gh[b,1024+i]);
  n[b,i in 0..1024] = tanh(gi[b,2048+i]+r[b,i]*gh[b,2048+i]);
  output y[b,i] : E = (1-z[b,i])*n[b,i]+z[b,i]*h[b,i];
}
