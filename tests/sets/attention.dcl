// Rows flattened, attention, a size that is not the outermost dimension.
model net {
  dim B in {1, 4, 9};
  dim S = 6;  dim D = 32;
  type E = f16;
  input x : E[B, S, D];
  input z : E[D, B];
  input ids : i32[B, S] in 2..20;
  param wq : E[D, D] = "q";
  param wk : E[D, D] = "k";
  param wv : E[D, D] = "v";
  param e : E[20, D];
  h[b, s, d] = x[b, s, d] + e[ids[b, s], d] + z[d, b];
  f = reshape(h, [B * S, D]);
  q = reshape(linear(f, wq), [B, 1, S, D]);
  k = reshape(linear(f, wk), [B, 1, S, D]);
  v = reshape(linear(f, wv), [B, 1, S, D]);
  a = attention(q, k, v);
  output y[b, s, d] = a[b, 0, s, d];
  output t[d, b] = sum(s) a[b, 0, s, d];
}
