// Q, K and V: three products of one input become one; their biases follow.
model stack {
  input x : f16[8, 32];
  param wq : f16[16, 32];  param bq : f16[16];
  param wk : f16[16, 32];  param bk : f16[16];
  param wv : f16[16, 32];  param bv : f16[16];
  s = matmul(linear(x, wq, bq), transpose(linear(x, wk, bk), perm = [1, 0]));
  output y = matmul(s, linear(x, wv, bv));
}
// Other shapes, a pinned statement, an output: all stay.
model apart {
  input x : f16[8, 32];
  param a : f16[16, 32];
  param b : f16[24, 32];
  param c : f16[16, 32];
  param d : f16[16, 32];
  @nofuse p = linear(x, c);
  output q = linear(x, d);
  output y = concat(linear(x, a), linear(x, b), p, axis = 1);
}
