model top2 {
  type E = f16;
  input x : E[8192,1024];
  i1[n] = argmax(j) x[n,j];
  m2[n] = max(j) (j == i1[n] ? -inf : x[n,j]);
  output v1[n] = x[n,i1[n]];
  output m2;
}
