model skinny_gram {
  type E = f16;
  input a : E[131072,64];
  output y[i,k] : f32 = sum(j) a[j,i]*a[j,k];
}
