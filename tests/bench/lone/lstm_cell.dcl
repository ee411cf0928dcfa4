model lstm_cell {
  type E = f16;
  input x : E[512,1024];
  input h : E[512,1024];
  input c : E[512,1024];
  param wi : E[4096,1024];
  param wh : E[4096,1024];
  param b : E[4096];
  g[n,j] : f32 = sum(k) x[n,k]*wi[j,k] + sum(k) h[n,k]*wh[j,k] + b[j];
  i[n,k in 0..1024] = sigmoid(g[n,k]);
  f[n,k in 0..1024] = sigmoid(g[n,1024+k]);
  u[n,k in 0..1024] = tanh(g[n,2048+k]);
  o[n,k in 0..1024] = sigmoid(g[n,3072+k]);
  cn[n,k] : f32 = f[n,k]*c[n,k]+i[n,k]*u[n,k];
  output hn[n,k] : E = o[n,k]*tanh(cn[n,k]);
  output co : E[512,1024] = E(cn);
}
