model net {
  dim B = 4;
  dim D = 64;
  input x : f16[B, D];
  input ids : i32[B] in 0..7;
  param wq : f16[D, D] = "q";
  param wk : f16[D, D] = "k";
  param wv : f16[D, D] = "v";
  param u : f16[D, D];
  param e : f16[16, D];
  param unread : f32[3];
  state n : f32[D] = 2;
  q = linear(x, wq);
  k = linear(x, wk);
  v = linear(x, wv);
  s[b, j] = q[b, j] * k[b, j] + v[b, j] + e[ids[b], j];
  n[j] = n[j] + max(b) f32(s[b, j]);
  output y[b, j] = (sum(i) s[b, i] * u[i, j]) + n[j];
}
