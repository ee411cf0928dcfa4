model onehot_prod {
  type E = f16;
  input ids : i32[4096] in 0..1024;
  param w : E[1024,1024];
  output y[n,d] = sum(v in 0..1024) (ids[n] == v ? 1.0 : 0.0)*w[v,d];
}
