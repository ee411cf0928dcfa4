model infonce {
  type E = f16;
  input a : E[2048,256];
  input b : E[2048,256];
  s[i,j] : f32 = (sum(c) a[i,c]*b[j,c]) * 14.0;
  l = log_softmax(s);
  output y[] = -mean(i) l[i,i];
}
