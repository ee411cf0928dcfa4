// A small GPT that learns a text by its bytes. `chargpt_train` trains, `chargpt_check` looks at another part of it.
//
//   tools/text_rows.py dsl/LANGUAGE.md --rows text.safetensors --held-out rest.safetensors
//   dcc train examples/chargpt_train.dcl --data text.safetensors --validate rest.safetensors \
//       --steps 500 --save chargpt.safetensors
block dense(x: T[.., D]; out, std = 0.02) -> y {
  param w : T[out, D] = "weight" or normal(std);
  param b : T[out] = "bias" or zeros;
  y = linear(x, w, b);
}
block norm(x: T[.., D]) -> y {
  param g : T[D] = "weight" or ones;
  param b : T[D] = "bias" or zeros;
  y = layer_norm(x, g, b);
}
block layer(x: T[B, S, D]; heads, layers) -> y {
  dim K = D / heads;
  c = dense(norm(x) as "norm1", out = 3 * D) as "attention";
  q[b, n in 0..heads, s, d in 0..K] = c[b, s, n * K + d];
  k[b, n in 0..heads, s, d in 0..K] = c[b, s, D + n * K + d];
  v[b, n in 0..heads, s, d in 0..K] = c[b, s, 2 * D + n * K + d];
  a = attention(q, k, v, causal = true);
  o[b, s, d in 0..D] = a[b, d / K, s, d % K];
  h = x + dense(o, out = D, std = 0.02 / sqrt(2 * layers)) as "projection";
  f = gelu(dense(norm(h) as "norm2", out = 4 * D) as "fc1");
  y = h + dense(f, out = D, std = 0.02 / sqrt(2 * layers)) as "fc2";
}
// Bytes of which each row has one more than is read: the next of each is what is learnt.
block chargpt(text: u8[B, R]; type E = f32) -> loss {
  dim S = R - 1;  dim D = 128;  dim L = 4;
  param bytes : E[256, D] = "bytes.weight" or normal(0.02);
  param places : E[S, D] = "places.weight" or normal(0.02);
  x[b, s in 0..S, d] = bytes[text[b, s], d] + places[s, d];
  for l in 0..L { x = layer(x, heads = 4, layers = L) as "layers.{l}"; }
  z = linear(norm(x) as "norm", bytes);
  p[i in 0..B * S, j in 0..256] = z[i / S, i % S, j];
  t[i in 0..B * S] = i32(text[i / S, i % S + 1]);
  loss = cross_entropy(p, t);
}
model chargpt_train {
  dim B = 32;  dim S = 64;  type E = f32;
  input text : u8[B, S + 1] in 0..256;
  input step : i32;
  output loss = chargpt(text, E = E) as "";
  rate = 0.001 * min((f32(step) + 1) / 100, 1.0);
  for w in params {
    w = adamw(w, grad(loss, w), rate, decay = rank(w) > 1 ? 0.1 : 0) as "adamw.{w}";
  }
}
model chargpt_check {
  dim B = 32;  dim S = 64;  type E = f32;
  input text : u8[B, S + 1] in 0..256;
  output loss = chargpt(text, E = E) as "";
}
