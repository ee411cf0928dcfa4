model three_factor {
  type E = f16;
  input a : E[1024,512];
  input c : E[512];
  input b : E[1024,512];
  output y[i,k] = sum(j) a[i,j] * c[j] * b[k,j];
}
