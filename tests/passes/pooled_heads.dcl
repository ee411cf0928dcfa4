// A depthwise window over the channels of each head (MViT's pooled queries)
// stores along them, too, and not along heads.
model pooled_heads {
  dim B = 2;  type E = f16;
  input u : E[B, 196, 384];  param m : E[384, 384];
  param w : E[96, 1, 3, 3];  param g : E[96];  param v : E[64, 96];
  t = transpose(reshape(linear(u, m), shape = [B, 196, 4, 96]), perm = [0, 2, 1, 3]);
  x = transpose(reshape(t, shape = [4 * B, 14, 14, 96]), perm = [0, 3, 1, 2]);
  h = conv2d(x, w, pad = 1, groups = 96);
  r = transpose(reshape(h, shape = [B, 4, 96, 196]), perm = [0, 1, 3, 2]);
  output y = linear(rms_norm(r, g), v);
}
