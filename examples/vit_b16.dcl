// ViT-B/16, torchvision's weight names
block dense(x: T[.., D]; out, w = "weight", b = "bias") -> y {
  param weight : T[out, D] = "{w}";  param bias : T[out] = "{b}";
  y = linear(x, weight, bias);
}
block norm(x: T[.., D]) -> y {
  param g : T[D] = "weight";  param b : T[D] = "bias";
  y = layer_norm(x, g, b, eps = 1e-6);
}
block layer(x: T[B, S, D]; heads) -> y {
  dim K = D / heads;
  c = dense(norm(x) as "ln_1", out = 3 * D, w = "in_proj_weight", b = "in_proj_bias") as "self_attention";
  q[b, n in 0..heads, s, d in 0..K] = c[b, s, n * K + d];
  k[b, n in 0..heads, s, d in 0..K] = c[b, s, D + n * K + d];
  v[b, n in 0..heads, s, d in 0..K] = c[b, s, 2 * D + n * K + d];
  a = attention(q, k, v);
  o[b, s, d in 0..D] = a[b, d / K, s, d % K];
  h = x + dense(o, out = D) as "self_attention.out_proj";
  f = gelu(dense(norm(h) as "ln_2", out = 4 * D) as "mlp.0");
  y = h + dense(f, out = D) as "mlp.3";
}
model vit_b16 {
  dim B = 1;  dim S = 224;  dim D = 768;  dim L = 12;  type E = f16;
  dim G = S / 16;                                     // patches along a side
  input x : E[B, 3, S, S];
  param w   : E[D, 3, 16, 16]     = "conv_proj.weight";
  param b   : E[D]                = "conv_proj.bias";
  param cls : E[1, 1, D]          = "class_token";
  param pos : E[1, G * G + 1, D]  = "encoder.pos_embedding";
  patch = conv2d(x, w, b, stride = 16);
  h[n, t in 0..G * G + 1, d] = (t == 0 ? cls[0, 0, d] : patch[n, d, (t - 1) / G, (t - 1) % G] or 0) + pos[0, t, d];
  for l in 0..L { h = layer(h, heads = D / 64) as "encoder.layers.encoder_layer_{l}"; }
  h = norm(h) as "encoder.ln";
  token[n, d] = h[n, 0, d];
  output logits = dense(token, out = 1000) as "heads.head";
}
