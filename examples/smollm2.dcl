// SmolLM2-135M, a Llama: rotary positions, three query heads to one of keys and values, gated
// perceptrons; prefill, transformers' weight names (LlamaForCausalLM); the head is the token table
block plain(x: T[.., D]; out) -> y {
  param w : T[out, D] = "weight";
  y = linear(x, w);
}
block norm(x: T[.., D]) -> y {
  param g : T[D] = "weight";
  y = rms_norm(x, g, eps = 1e-5);
}
// x at position s turned by s theta^(-2 d / K), element d with element d + K / 2.
op rotary(x: T[B, H, S, K]; theta = 100000.0) -> y {
  dim R = K / 2;
  a[s in 0..S, d in 0..R] : f32 = s * exp(-log(theta) / R * d);
  c[s in 0..S, d in 0..R] : T = cos(a[s, d]);
  n[s in 0..S, d in 0..R] : T = sin(a[s, d]);
  y[b, h, s, d in 0..R] = x[b, h, s, d] * c[s, d] - x[b, h, s, d + R] * n[s, d];
  y[b, h, s, d in R..K] = x[b, h, s, d] * c[s, d - R] + x[b, h, s, d - R] * n[s, d - R];
}
block layer(x: T[B, S, D]; heads, groups, inner) -> y {
  dim K = D / heads;
  h = norm(x) as "input_layernorm";
  qs = plain(h, out = D) as "self_attn.q_proj";
  ks = plain(h, out = groups * K) as "self_attn.k_proj";
  vs = plain(h, out = groups * K) as "self_attn.v_proj";
  q[b, n in 0..heads, s, d in 0..K] = qs[b, s, n * K + d];
  k[b, n in 0..groups, s, d in 0..K] = ks[b, s, n * K + d];
  v[b, n in 0..groups, s, d in 0..K] = vs[b, s, n * K + d];
  a = grouped_attention(rotary(q), rotary(k), v, causal = true);
  o[b, s, d in 0..D] = a[b, d / K, s, d % K];
  h = x + plain(o, out = D) as "self_attn.o_proj";
  t = norm(h) as "post_attention_layernorm";
  f = silu(plain(t, out = inner) as "mlp.gate_proj") * plain(t, out = inner) as "mlp.up_proj";
  y = h + plain(f, out = D) as "mlp.down_proj";
}
model smollm2 {
  dim B = 1;  dim S = 512;  dim D = 576;  dim L = 30;  dim F = 1536;  dim V = 49152;  type E = f16;
  input ids : i32[B, S] in 0..V;
  param table : E[V, D] = "model.embed_tokens.weight";
  x = embedding(ids, table);
  for l in 0..L { x = layer(x, heads = D / 64, groups = D / 192, inner = F) as "model.layers.{l}"; }
  output logits = linear(norm(x) as "model.norm", table);
}
