model tril_prod {
  type E = f16;
  input a : E[2048,2048];
  input x : E[2048,1024];
  output y[i,k] = sum(j in 0..i+1) a[i,j]*x[j,k];
}
