model cdist_expand {
  type E = f16;
  input a : E[4096,256];
  input b : E[4096,256];
  aa[i] : f32 = sum(c) f32(a[i,c])*a[i,c];
  bb[j] : f32 = sum(c) f32(b[j,c])*b[j,c];
  ab[i,j] : f32 = sum(c) a[i,c]*b[j,c];
  output y[i,j] : E = sqrt(max(aa[i]+bb[j]-2*ab[i,j], 0));
}
