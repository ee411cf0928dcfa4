model spectral_conv {
  type E = f16;
  input xr : E[32,64,256];
  input xi : E[32,64,256];
  input wr : E[64,64,256];
  input wi : E[64,64,256];
  output yr[b,o,m] = sum(i) (xr[b,i,m]*wr[i,o,m] - xi[b,i,m]*wi[i,o,m]);
  output yi[b,o,m] = sum(i) (xr[b,i,m]*wi[i,o,m] + xi[b,i,m]*wr[i,o,m]);
}
