// state: versions, data on the left, reads above and below
block store(x: T[B, D], pos: i32; size) -> y {
  state k : T[B, size, D] = 1;
  y[b, d] = k[b, 0, d];
  k[b, pos, d] = x[b, d];
  z[b, d] = k[b, pos, d] + k[b, size - 1, d];
  y = y + z;
}
model cache {
  dim S = 16;
  input x   : f16[2, 8];
  input pos : i32 in 0..S;
  input any : i32;
  state n : i32[];
  n[] = n + 1;
  a = store[0](x, pos, size = S);
  b = store[1](a, any + 1, size = S);
  c = store[2](b, n, size = S);
  output o = c;
}
