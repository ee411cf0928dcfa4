// pix2pix's generator, a U-Net of eight levels: what goes down at a level comes up again beside what
// the level below made of it
block down(x: T[N, C, H, W]; out) -> y {
  param w : T[out, C, 4, 4] = "conv.weight";
  y = conv2d(x, w, stride = 2, pad = 1);
}
block up(x: T[N, C, H, W]; out) -> y {
  param w : T[C, out, 4, 4] = "conv.weight";
  y = conv_transpose2d(relu(x), w, stride = 2, pad = 1);
}
block bn(x: T[N, C, ..]) -> y {
  param g : T[C] = "weight";        param b : T[C] = "bias";
  param m : T[C] = "running_mean";  param v : T[C] = "running_var";
  y = batch_norm(x, g, b, m, v);
}
block lower(x: T[N, C, H, W]; out) -> y {
  y = bn(down(leaky_relu(x, slope = 0.2), out = out) as "") as "norm";
}
block upper(x: T[N, C, H, W]; out) -> y { y = bn(up(x, out = out) as "") as "norm"; }
model pix2pix {
  dim B = 1;  dim S = 256;  dim W = 64;  type E = f16;
  input x : E[B, 3, S, S];
  d1 = down(x, out = W) as "down.1";
  d2 = lower(d1, out = 2 * W) as "down.2";
  d3 = lower(d2, out = 4 * W) as "down.3";
  d4 = lower(d3, out = 8 * W) as "down.4";
  d5 = lower(d4, out = 8 * W) as "down.5";
  d6 = lower(d5, out = 8 * W) as "down.6";
  d7 = lower(d6, out = 8 * W) as "down.7";
  d8 = down(leaky_relu(d7, slope = 0.2), out = 8 * W) as "down.8";
  u = upper(d8, out = 8 * W) as "up.8";
  u = upper(concat(d7, u, axis = 1), out = 8 * W) as "up.7";
  u = upper(concat(d6, u, axis = 1), out = 8 * W) as "up.6";
  u = upper(concat(d5, u, axis = 1), out = 8 * W) as "up.5";
  u = upper(concat(d4, u, axis = 1), out = 4 * W) as "up.4";
  u = upper(concat(d3, u, axis = 1), out = 2 * W) as "up.3";
  u = upper(concat(d2, u, axis = 1), out = W) as "up.2";
  u = up(concat(d1, u, axis = 1), out = 3) as "up.1";
  param b : E[3] = "up.1.conv.bias";
  output y[n, c, p, q] = tanh(u[n, c, p, q] + b[c]);
}
