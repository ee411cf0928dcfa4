model top1_val {
  type E = f16;
  input x : E[4096,8192];
  i[n] = argmax(j) x[n,j];
  output v[n] = x[n,i[n]];
  output i;
}
