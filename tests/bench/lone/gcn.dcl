model gcn {
  type E = f16;
  input a : E[2048,2048];
  input x : E[2048,512];
  param w : E[512,512];
  h = linear(x, w);
  output y[i,c] = relu(sum(j) a[i,j]*h[j,c]);
}
