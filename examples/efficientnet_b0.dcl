// EfficientNet-B0, torchvision's weight names: inverted bottlenecks whose channels are weighted by
// what all of the image says (squeeze-excite)
block conv(x: T[N, C, H, W]; out, kernel = 1, stride = 1, groups = 1) -> y {
  param w : T[out, C / groups, kernel, kernel] = "weight";
  y = conv2d(x, w, stride = stride, pad = kernel / 2, groups = groups);
}
block bn(x: T[N, C, ..]) -> y {
  param g : T[C] = "weight";        param b : T[C] = "bias";
  param m : T[C] = "running_mean";  param v : T[C] = "running_var";
  y = batch_norm(x, g, b, m, v);
}
block dense(x: T[N, C]; out) -> y {
  param w : T[out, C, 1, 1] = "weight";  param b : T[out] = "bias";     // a convolution of one point
  y[n, k] = sum(c) x[n, c] * w[k, c, 0, 0] + b[k];
}
block excite(x: T[N, C, H, W]; squeeze) -> y {
  s = silu(dense(global_avg_pool(x), out = squeeze) as "fc1");
  g = sigmoid(dense(s, out = C) as "fc2");
  y[n, c, h, w] = g[n, c] * x[n, c, h, w];
}
block bottleneck(x: T[N, C, H, W]; out, expand, kernel, stride) -> y {
  dim M = expand * C;
  dim i = expand == 1 ? 0 : 1;
  if (i == 1) { h = silu(bn(conv(x, out = M) as "block.0.0") as "block.0.1"); } else { h = x; }
  h = silu(bn(conv(h, out = M, kernel = kernel, stride = stride, groups = M) as "block.{i}.0")
          as "block.{i}.1");
  h = excite(h, squeeze = C / 4) as "block.{i + 1}";
  h = bn(conv(h, out = out) as "block.{i + 2}.0") as "block.{i + 2}.1";
  if (stride == 1 && out == C) { y = x + h; } else { y = h; }
}
model efficientnet_b0 {
  dim B = 1;  dim S = 224;  type E = f16;
  dim expand = [1, 6, 6, 6, 6, 6, 6];
  dim kernel = [3, 3, 5, 3, 5, 5, 3];
  dim stride = [1, 2, 2, 2, 1, 2, 1];
  dim width  = [16, 24, 40, 80, 112, 192, 320];
  dim count  = [1, 2, 2, 3, 3, 4, 1];
  input x : E[B, 3, S, S];
  h = silu(bn(conv(x, out = 32, kernel = 3, stride = 2) as "features.0.0") as "features.0.1");
  for i in 0..7 {
    for j in 0..count[i] {
      h = bottleneck(h, out = width[i], expand = expand[i], kernel = kernel[i], stride = j == 0 ? stride[i] : 1)
          as "features.{i + 1}.{j}";
    }
  }
  h = silu(bn(conv(h, out = 1280) as "features.8.0") as "features.8.1");
  param w : E[1000, 1280] = "classifier.1.weight";
  param b : E[1000]       = "classifier.1.bias";
  output logits = linear(global_avg_pool(h), w, b);
}
