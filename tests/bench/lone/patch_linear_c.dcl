model patch_linear_c {
  type E = f16;
  input x : E[32,3,224,224];
  param w : E[768,768];
  param b : E[768];
  t[n,p in 0..196,e in 0..768] = x[n,e%3,p/14*16+e/48,p%14*16+e/3%16];
  output y = linear(t, w, b);
}
