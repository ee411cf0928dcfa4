block bn(x: T[N, C, ..]) -> y {
  param g : f32[C] = "weight" or ones;
  param b : f32[C] = "bias" or zeros;
  y = batch_norm_train(x, g, b) as "";
}
// What stands between a gradient and a parameter: batch norm with running statistics,
// dropout, a scaled loss, a limit on the norm of all gradients, accumulation, a schedule.
model steps {
  dim B = 6;
  input x : f32[B, 3, 5, 7];
  input t : f32[B, 4, 3, 5];
  input lr : f32;
  param w : f32[4, 3, 3, 3] = kaiming;
  state n : i32;
  state scale : f32 = 1024;
  z = conv2d(dropout(bn(x) as "bn1", n, p = 0.1), w);
  y = bn(z) as "bn2";
  loss = mse(y, t);
  scaled = loss * scale;
  s : f32 = 0;
  for v in params { s = s + square_sum(grad(scaled, v)); }
  ok = finite(s);
  rate = cosine_rate(n, peak = 0.1, steps = 100, warm_up = 10);
  for v in params {
    g = clip_by_global_norm(grad(scaled, v) / scale, s / (scale * scale), limit = 1);
    v = adamw(v, accumulate(g, n, parts = 2) as "acc.{v}", rate * lr,
            ok && (n + 1) % 2 == 0) as "adamw.{v}";
  }
  scale = scaler(scale, ok);
  n = n + 1;
  output loss;
  output good = ok * 1;
  output r = rate * 1;
}
// The second step's gradient is not finite: it is skipped, and nothing is left of it.
model skips {
  input x : f32[4, 6];
  param w : f32[3, 6];
  state n : i32;
  state scale : f32 = 1024;
  loss = square_sum(linear(x, w)) / (n == 1 ? 0.0 : 1.0);
  scaled = loss * scale;
  s : f32 = 0;
  for v in params { s = s + square_sum(grad(scaled, v)); }
  ok = finite(s);
  for v in params {
    g = grad(scaled, v) / scale;
    v = adam(v, g, 0.01, ok) as "adam.{v}";
    v = sgd(v, clip_by_norm(g, limit = 1), 0.01, ok, momentum = 0.9, nesterov = true) as "sgd.{v}";
  }
  scale = scaler(scale, ok, interval = 2);
  n = n + 1;
  output y = linear(x, w);
  output good = ok * 1;
  output now = scale * 1;
}
