model xent_50257 {
  type E = f16;
  input x : E[1024,50257];
  input t : i32[1024] in 0..50257;
  output y = cross_entropy(x, t);
}
