model kron_apply {
  type E = f16;
  input x : E[256,64,64];
  input a : E[64,64];
  input b : E[64,64];
  t[n,i,k] = sum(j) x[n,j,k] * a[i,j];
  output y[n,i,l] = sum(k) t[n,i,k] * b[l,k];
}
