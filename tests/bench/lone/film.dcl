model film {
  type E = f16;
  input x : E[32,256,56,56];
  input g : E[32,256];
  input b : E[32,256];
  output y[n,c,h,w] = x[n,c,h,w]*(1+g[n,c])+b[n,c];
}
