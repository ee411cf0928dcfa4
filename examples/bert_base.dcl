// BERT-base encoder, transformers' weight names (BertModel)
block dense(x: T[.., D]; out) -> y {
  param w : T[out, D] = "weight";  param b : T[out] = "bias";
  y = linear(x, w, b);
}
block norm(x: T[.., D]) -> y {
  param g : T[D] = "weight";  param b : T[D] = "bias";
  y = layer_norm(x, g, b, eps = 1e-12);
}
block layer(x: T[B, S, D]; heads, inner) -> y {
  dim K = D / heads;
  q = dense(x, out = D) as "attention.self.query";
  k = dense(x, out = D) as "attention.self.key";
  v = dense(x, out = D) as "attention.self.value";
  s[b, n in 0..heads, i in 0..S, j in 0..S] : f32 = sum(d in 0..K) q[b, i, n * K + d] * k[b, j, n * K + d] / sqrt(K);
  p : T = softmax(s);                                      // stored as T: both products are on tensor cores
  o[b, i, d in 0..D] : T = sum(j) p[b, d / K, i, j] * v[b, j, d];
  h = norm(x + dense(o, out = D) as "attention.output.dense") as "attention.output.LayerNorm";
  f = gelu(dense(h, out = inner) as "intermediate.dense");
  y = norm(h + dense(f, out = D) as "output.dense") as "output.LayerNorm";
}
model bert_base {
  dim B = 1;  dim S = 128;  dim D = 768;  dim L = 12;  dim V = 30522;  type E = f16;
  input ids : i32[B, S] in 0..V;
  param tok : E[V, D]   = "embeddings.word_embeddings.weight";
  param pos : E[512, D] = "embeddings.position_embeddings.weight";
  param seg : E[2, D]   = "embeddings.token_type_embeddings.weight";
  e[b, s in 0..S, d] : E = tok[ids[b, s], d] + pos[s, d] + seg[0, d];
  x = norm(e) as "embeddings.LayerNorm";
  for l in 0..L { x = layer(x, heads = D / 64, inner = 4 * D) as "encoder.layer.{l}"; }
  output last_hidden_state = x;
}
