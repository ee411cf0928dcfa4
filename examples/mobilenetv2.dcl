// MobileNetV2, torchvision's weight names
block conv(x: T[N, C, H, W]; out, kernel = 1, stride = 1, groups = 1) -> y {
  param w : T[out, C / groups, kernel, kernel] = "weight";
  y = conv2d(x, w, stride = stride, pad = kernel / 2, groups = groups);
}
block bn(x: T[N, C, ..]) -> y {
  param g : T[C] = "weight";        param b : T[C] = "bias";
  param m : T[C] = "running_mean";  param v : T[C] = "running_var";
  y = batch_norm(x, g, b, m, v);
}
block inverted(x: T[N, C, H, W]; out, stride = 1, expand = 6) -> y {
  dim M = expand * C;
  if (expand == 1) {
    h = relu6(bn(conv(x, out = M, kernel = 3, stride = stride, groups = M) as "conv.0.0") as "conv.0.1");
    h = bn(conv(h, out = out) as "conv.1") as "conv.2";
  } else {
    h = relu6(bn(conv(x, out = M) as "conv.0.0") as "conv.0.1");
    h = relu6(bn(conv(h, out = M, kernel = 3, stride = stride, groups = M) as "conv.1.0") as "conv.1.1");
    h = bn(conv(h, out = out) as "conv.2") as "conv.3";
  }
  if (stride == 1 && out == C) { y = x + h; } else { y = h; }
}
model mobilenetv2 {
  dim B = 1;  dim S = 224;  type E = f16;
  input x : E[B, 3, S, S];
  h = relu6(bn(conv(x, out = 32, kernel = 3, stride = 2) as "features.0.0") as "features.0.1");
  h = inverted(h, out = 16, expand = 1) as "features.1";
  for i in 2..4   { h = inverted(h, out = 24,  stride = i == 2 ? 2 : 1) as "features.{i}"; }
  for i in 4..7   { h = inverted(h, out = 32,  stride = i == 4 ? 2 : 1) as "features.{i}"; }
  for i in 7..11  { h = inverted(h, out = 64,  stride = i == 7 ? 2 : 1) as "features.{i}"; }
  for i in 11..14 { h = inverted(h, out = 96) as "features.{i}"; }
  for i in 14..17 { h = inverted(h, out = 160, stride = i == 14 ? 2 : 1) as "features.{i}"; }
  h = inverted(h, out = 320) as "features.17";
  h = relu6(bn(conv(h, out = 1280) as "features.18.0") as "features.18.1");
  param w : E[1000, 1280] = "classifier.1.weight";
  param b : E[1000]       = "classifier.1.bias";
  output logits = linear(global_avg_pool(h), w, b);
}
