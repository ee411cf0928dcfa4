model instnorm_nhwc {
  type E = f16;
  input x : E[16,64,64,128];
  t[n,c,h,w] = x[n,h,w,c];
  u = relu(instance_norm(t));
  output y[n,h,w,c] = u[n,c,h,w];
}
