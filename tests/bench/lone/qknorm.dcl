model qknorm {
  type E = f16;
  input x : E[8,2048,16,64];
  param g : E[64];
  t = rms_norm(x, g);
  output y[b,h,s,d] = t[b,s,h,d];
}
