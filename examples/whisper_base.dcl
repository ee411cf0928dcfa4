// Whisper base's encoder, 30 s of speech, transformers' weight names (WhisperEncoder)
block conv(x: T[N, C, L]; out, stride = 1) -> y {
  param w : T[out, C, 3] = "weight";  param b : T[out] = "bias";
  y = conv1d(x, w, b, stride = stride, pad = 1);
}
block dense(x: T[.., D]; out) -> y {
  param w : T[out, D] = "weight";  param b : T[out] = "bias";
  y = linear(x, w, b);
}
block plain(x: T[.., D]; out) -> y {
  param w : T[out, D] = "weight";
  y = linear(x, w);
}
block norm(x: T[.., D]) -> y {
  param g : T[D] = "weight";  param b : T[D] = "bias";
  y = layer_norm(x, g, b, eps = 1e-5);
}
block layer(x: T[B, S, D]; heads) -> y {
  dim K = D / heads;
  h = norm(x) as "self_attn_layer_norm";
  q = dense(h, out = D) as "self_attn.q_proj";
  k = plain(h, out = D) as "self_attn.k_proj";             // keys have no bias
  v = dense(h, out = D) as "self_attn.v_proj";
  a = attention(transpose(reshape(q, shape = [B, S, heads, K]), perm = [0, 2, 1, 3]),
      transpose(reshape(k, shape = [B, S, heads, K]), perm = [0, 2, 1, 3]),
      transpose(reshape(v, shape = [B, S, heads, K]), perm = [0, 2, 1, 3]));
  o[b, s, d in 0..D] = a[b, d / K, s, d % K];
  h = x + dense(o, out = D) as "self_attn.out_proj";
  f = gelu(dense(norm(h) as "final_layer_norm", out = 4 * D) as "fc1");
  y = h + dense(f, out = D) as "fc2";
}
model whisper_base {
  dim B = 1;  dim T = 3000;  dim D = 512;  dim L = 6;  type E = f16;
  dim S = T / 2;
  input mel : E[B, 80, T];
  param pos : E[S, D] = "embed_positions.weight";
  h = gelu(conv(mel, out = D) as "conv1");
  h = gelu(conv(h, out = D, stride = 2) as "conv2");
  x[b, s, d] = h[b, d, s] + pos[s, d];
  for l in 0..L { x = layer(x, heads = D / 64) as "layers.{l}"; }
  output last_hidden_state = norm(x) as "layer_norm";
}
