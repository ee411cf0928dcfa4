// GPT-2, prefill, transformers' weight names (GPT2LMHeadModel); the head is the token table
op rows(x: T[.., D], w: T[D, E], b: T[E]) -> y: T[.., E] { y[.., e] = sum(d) x[.., d] * w[d, e] + b[e]; }
block dense(x: T[.., D]; out) -> y {
  param w : T[D, out] = "weight";  param b : T[out] = "bias";      // [in, out], transformers' Conv1D
  y = rows(x, w, b);
}
block norm(x: T[.., D]) -> y {
  param g : T[D] = "weight";  param b : T[D] = "bias";
  y = layer_norm(x, g, b, eps = 1e-5);
}
block layer(x: T[B, S, D]; heads) -> y {
  dim K = D / heads;
  c = dense(norm(x) as "ln_1", out = 3 * D) as "attn.c_attn";
  q[b, n in 0..heads, s, d in 0..K] = c[b, s, n * K + d];
  k[b, n in 0..heads, s, d in 0..K] = c[b, s, D + n * K + d];
  v[b, n in 0..heads, s, d in 0..K] = c[b, s, 2 * D + n * K + d];
  a = attention(q, k, v, causal = true);
  o[b, s, d in 0..D] = a[b, d / K, s, d % K];
  h = x + dense(o, out = D) as "attn.c_proj";
  f = gelu(dense(norm(h) as "ln_2", out = 4 * D) as "mlp.c_fc", approximate = "tanh");
  y = h + dense(f, out = D) as "mlp.c_proj";
}
model gpt2 {
  dim B = 1;  dim S = 1024;  dim D = 768;  dim L = 12;  dim V = 50257;  type E = f16;
  input ids : i32[B, S] in 0..V;
  param wte : E[V, D]    = "transformer.wte.weight";
  param wpe : E[1024, D] = "transformer.wpe.weight";
  x[b, s in 0..S, d] = wte[ids[b, s], d] + wpe[s, d];
  for l in 0..L { x = layer(x, heads = D / 64) as "transformer.h.{l}"; }
  output logits = linear(norm(x) as "transformer.ln_f", wte);
}
