model nonlocal {
  type E = f16;
  input t : E[4,128,1024];
  input f : E[4,128,1024];
  input g : E[4,128,1024];
  s[b,i,j] : f32 = sum(c) t[b,c,i]*f[b,c,j];
  p : E = softmax(s);
  output y[b,c,i] = sum(j) p[b,i,j]*g[b,c,j];
}
