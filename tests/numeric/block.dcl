// Blocks, loops at compile time, tied weights, whole small networks.
block dense(x: T[.., D]; out) -> y {
  param w : T[out, D] = "weight";
  param b : T[out] = "bias";
  y = linear(x, w, b);
}
model bl_loop {
  input x : f32[3, 12];
  h = x;
  for l in 0..3 { h = relu(dense[l](h, out = 12) as "layers.{l}"); }
  output y = h;
}
model bl_tied {
  input ids : i32[4] in 0..15;
  param t : f32[15, 8] = "wte";
  x[i, d] = t[ids[i], d];
  h = dense(x, out = 8);
  output y = linear(h, t);
}
model bl_if {
  dim K = 3;
  input x : f32[4, 6];
  if (K > 2) { h = x * 2; } else { h = x; }
  output y = h + K;
}
block bottleneck(x: T[N, C, H, W]; mid, stride = 1) -> y {
  param w1 : T[mid, C, 1, 1];
  param w2 : T[mid, mid, 3, 3];
  param w3 : T[C, mid, 1, 1];
  param g : T[C];
  param b : T[C];
  param m : T[C];
  param v : T[C];
  h = relu(conv2d(x, w1));
  h = relu(conv2d(h, w2, stride = stride, pad = 1));
  y = relu(batch_norm(conv2d(h, w3), g, b, m, v) + x);
}
model bl_resnet {
  input x : f16[1, 3, 16, 16];
  param w : f16[16, 3, 3, 3];
  h = max_pool(relu(conv2d(x, w, pad = 1)), kernel = 3, stride = 2, pad = 1);
  for l in 0..2 { h = bottleneck[l](h, mid = 8); }
  output y = dense(global_avg_pool(h), out = 10) as "fc";
}
block encoder(x: T[S, D]; heads) -> y {
  dim K = D / heads;
  param g1 : T[D];
  param b1 : T[D];
  param g2 : T[D];
  param b2 : T[D];
  n = layer_norm(x, g1, b1);
  q = transpose(reshape(dense(n, out = D) as "q", shape = [S, heads, K]), perm = [1, 0, 2]);
  k = transpose(reshape(dense(n, out = D) as "k", shape = [S, heads, K]), perm = [1, 0, 2]);
  v = transpose(reshape(dense(n, out = D) as "v", shape = [S, heads, K]), perm = [1, 0, 2]);
  o = reshape(transpose(attention(q, k, v, causal = true), perm = [1, 0, 2]), shape = [S, D]);
  h = x + dense(o, out = D) as "o";
  f = gelu(dense(layer_norm(h, g2, b2), out = 2 * D) as "up");
  y = h + dense(f, out = D) as "down";
}
model bl_transformer {
  input ids : i32[9] in 0..31;
  param wte : f16[31, 32];
  param wpe : f16[16, 32];
  x[s in 0..9, d] = wte[ids[s], d] + wpe[s, d];
  for l in 0..2 { x = encoder[l](x, heads = 4); }
  output logits = linear(x, wte);
  output next[s in 0..9] = argmax(v) logits[s, v];
}
model bl_transformer_f32 {
  input x : f32[7, 16];
  h = x;
  for l in 0..2 { h = encoder[l](h, heads = 2); }
  output y = h;
}
// heads in one row, in f32
model bl_rows_f32 {
  input q : f32[2, 3, 50, 16]; input k : f32[2, 3, 50, 16]; input v : f32[2, 3, 50, 16]; param w : f32[24, 48];
  output y = linear(reshape(transpose(attention(q, k, v), perm = [0, 2, 1, 3]), shape = [100, 48]), w);
}
