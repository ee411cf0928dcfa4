model gumbel_like {
  type E = f16;
  input x : E[16384,1024];
  input u : E[16384,1024];
  t[i,j] : f32 = (x[i,j] - log(-log(f32(u[i,j])+1e-10)+1e-10))/0.7;
  output y : E = softmax(t);
}
