model spatial_gate {
  type E = f16;
  input x : E[32,256,56,56];
  input g : E[32,56,56];
  output y[n,c,h,w] = x[n,c,h,w]*g[n,h,w];
}
