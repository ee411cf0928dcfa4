model vq_argmin {
  type E = f16;
  input x : E[8192,64];
  param cb : E[1024,64];
  d[i,j] : f32 = sum(c) (f32(x[i,c]) - cb[j,c]) * (x[i,c] - cb[j,c]);
  output y[i] = argmin(j) d[i,j];
}
