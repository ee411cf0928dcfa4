model glu_split {
  type E = f16;
  input x : E[16384,2048];
  output y[n,d in 0..1024] = x[n,d]*sigmoid(x[n,1024+d]);
}
