// Q, K and V: three products of one input become one; their biases follow.
model stack {
  input x : f16[8, 32];
  param wq : f16[16, 32];  param bq : f16[16];
  param wk : f16[16, 32];  param bk : f16[16];
  param wv : f16[16, 32];  param bv : f16[16];
  output q = linear(x, wq, bq);
  output s = matmul(linear(x, wk, bk), transpose(linear(x, wv, bv), perm = [1, 0]));
}
// Other shapes, a pinned statement, a product that needs the first: all stay.
model apart {
  input x : f16[8, 32];
  param a : f16[16, 32];
  param b : f16[24, 32];
  param c : f16[16, 32];
  @nofuse p = linear(x, c);
  output y = concat(linear(x, a), linear(x, b), p, axis = 1);
}
