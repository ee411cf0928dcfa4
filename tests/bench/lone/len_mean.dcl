model len_mean {
  type E = f16;
  input x : E[64,512,768];
  input n : i32[64] in 1..513;
  output y[b,d] : E = mean(s in 0..n[b]) x[b,s,d];
}
