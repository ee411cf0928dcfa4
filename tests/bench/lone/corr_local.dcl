model corr_local {
  type E = f16;
  input a : E[4,64,96,128];
  input b : E[4,64,96,128];
  output y[n,u in 0..9,v in 0..9,i,j] = sum(c) a[n,c,i,j] * (b[n,c,i+u-4,j+v-4] or 0);
}
