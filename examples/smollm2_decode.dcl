// SmolLM2-135M, one token at position pos; the caches stay on the GPU from run to run
block plain(x: T[.., D]; out) -> y {
  param w : T[out, D] = "weight";
  y = linear(x, w);
}
block norm(x: T[.., D]) -> y {
  param g : T[D] = "weight";
  y = rms_norm(x, g, eps = 1e-5);
}
// x at position pos turned by pos theta^(-2 d / K), element d with element d + K / 2.
op rotary(x: T[B, H, K], pos: i32; theta = 100000.0) -> y {
  dim R = K / 2;
  a[d in 0..R] : f32 = pos * exp(-log(theta) / R * d);
  c[d in 0..R] : T = cos(a[d]);
  n[d in 0..R] : T = sin(a[d]);
  y[b, h, d in 0..R] = x[b, h, d] * c[d] - x[b, h, d + R] * n[d];
  y[b, h, d in R..K] = x[b, h, d] * c[d - R] + x[b, h, d - R] * n[d - R];
}
block layer(x: T[B, D], pos: i32; heads, groups, inner, cache) -> y {
  dim K = D / heads;
  dim R = heads / groups;
  state ks : T[B, groups, cache, K];
  state vs : T[B, groups, cache, K];
  h = norm(x) as "input_layernorm";
  q = rotary(reshape(plain(h, out = D) as "self_attn.q_proj", shape = [B, heads, K]), pos);
  k = rotary(reshape(plain(h, out = groups * K) as "self_attn.k_proj", shape = [B, groups, K]), pos);
  v = plain(h, out = groups * K) as "self_attn.v_proj";
  ks[b, n, pos, d] = k[b, n, d];                               // one row is written, the rest stays
  vs[b, n, pos, d] = v[b, n * K + d];
  s[b, n, j] : f32 = j <= pos ? sum(d) q[b, n, d] * ks[b, n / R, j, d] / sqrt(K) : -inf;
  p : T = softmax(s);
  o[b, d in 0..D] : T = sum(j) p[b, d / K, j] * vs[b, d / K / R, j, d % K];
  h = x + plain(o, out = D) as "self_attn.o_proj";
  t = norm(h) as "post_attention_layernorm";
  f = silu(plain(t, out = inner) as "mlp.gate_proj") * plain(t, out = inner) as "mlp.up_proj";
  y = h + plain(f, out = D) as "mlp.down_proj";
}
model smollm2_decode {
  dim B = 1;  dim S = 1024;  dim D = 576;  dim L = 30;  dim F = 1536;  dim V = 49152;  type E = f16;
  input id  : i32[B] in 0..V;
  input pos : i32 in 0..S;
  param table : E[V, D] = "model.embed_tokens.weight";
  x = embedding(id, table);
  for l in 0..L {
    x = layer(x, pos, heads = D / 64, groups = D / 192, inner = F, cache = S) as "model.layers.{l}";
  }
  output logits = linear(norm(x) as "model.norm", table);
}
