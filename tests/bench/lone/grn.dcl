model grn {
  type E = f16;
  input x : E[32,28,28,384];
  param g : E[384];
  param b : E[384];
  s[n,c] : f32 = sqrt(sum(h,w) f32(x[n,h,w,c])*x[n,h,w,c]);
  m[n] = mean(c) s[n,c];
  output y[n,h,w,c] : E = g[c]*(x[n,h,w,c]*(s[n,c]/(m[n]+1e-6)))+b[c]+x[n,h,w,c];
}
