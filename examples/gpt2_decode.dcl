// GPT-2, one token at position pos; the caches stay on the GPU from run to run
op rows(x: T[.., D], w: T[D, E], b: T[E]) -> y: T[.., E] { y[.., e] = sum(d) x[.., d] * w[d, e] + b[e]; }
block dense(x: T[.., D]; out) -> y {
  param w : T[D, out] = "weight";  param b : T[out] = "bias";      // [in, out], transformers' Conv1D
  y = rows(x, w, b);
}
block norm(x: T[.., D]) -> y {
  param g : T[D] = "weight";  param b : T[D] = "bias";
  y = layer_norm(x, g, b, eps = 1e-5);
}
block layer(x: T[B, D], pos: i32; heads, cache) -> y {
  dim K = D / heads;
  state ks : T[B, heads, cache, K];
  state vs : T[B, heads, cache, K];
  c = dense(norm(x) as "ln_1", out = 3 * D) as "attn.c_attn";
  ks[b, n, pos, d] = c[b, D + n * K + d];                       // one row is written, the rest stays
  vs[b, n, pos, d] = c[b, 2 * D + n * K + d];
  s[b, n, j] : f32 = j <= pos ? sum(d) c[b, n * K + d] * ks[b, n, j, d] / sqrt(K) : -inf;
  p : T = softmax(s);
  o[b, d in 0..D] : T = sum(j) p[b, d / K, j] * vs[b, d / K, j, d % K];
  h = x + dense(o, out = D) as "attn.c_proj";
  f = gelu(dense(norm(h) as "ln_2", out = 4 * D) as "mlp.c_fc", approximate = "tanh");
  y = h + dense(f, out = D) as "mlp.c_proj";
}
model gpt2_decode {
  dim B = 1;  dim S = 1024;  dim D = 768;  dim L = 12;  dim V = 50257;  type E = f16;
  input id  : i32[B] in 0..V;
  input pos : i32 in 0..S;
  param wte : E[V, D]    = "transformer.wte.weight";
  param wpe : E[1024, D] = "transformer.wpe.weight";
  x[b, d] = wte[id[b], d] + wpe[pos, d];
  for l in 0..L { x = layer(x, pos, heads = D / 64, cache = S) as "transformer.h.{l}"; }
  output logits = linear(norm(x) as "transformer.ln_f", wte);
}
