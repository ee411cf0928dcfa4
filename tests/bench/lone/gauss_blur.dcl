model gauss_blur {
  type E = f16;
  input x : E[16,3,512,512];
  param k : E[11];
  t[n,c,h,w in 0..512] : f32 = sum(s) (x[n,c,h,w+s-5] or 0)*k[s];
  output y[n,c,h in 0..512,w] : E = sum(r) (t[n,c,h+r-5,w] or 0)*k[r];
}
