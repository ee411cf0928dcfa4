// ConvNeXt-T, torchvision's weight names
block conv(x: T[N, C, H, W]; out, kernel, stride) -> y {
  param w : T[out, C, kernel, kernel] = "weight";  param b : T[out] = "bias";
  y = conv2d(x, w, b, stride = stride);
}
block norm(x: T[.., D]) -> y {
  param g : T[D] = "weight";  param b : T[D] = "bias";
  y = layer_norm(x, g, b, eps = 1e-6);
}
block norm2d(x: T[N, C, H, W]) -> y {          // over the channels of each point
  t = norm(transpose(x, perm = [0, 2, 3, 1])) as "";
  y = transpose(t, perm = [0, 3, 1, 2]);
}
block dense(x: T[.., D]; out) -> y {
  param w : T[out, D] = "weight";  param b : T[out] = "bias";
  y = linear(x, w, b);
}
block layer(x: T[N, C, H, W]) -> y {
  param w : T[C, 1, 7, 7] = "block.0.weight";
  param b : T[C]          = "block.0.bias";
  param s : T[C, 1, 1]    = "layer_scale";
  t = transpose(conv2d(x, w, b, pad = 3, groups = C), perm = [0, 2, 3, 1]);
  f = gelu(dense(norm(t) as "block.2", out = 4 * C) as "block.3");
  o = dense(f, out = C) as "block.5";
  y[n, c, h, w] = x[n, c, h, w] + s[c, 0, 0] * o[n, h, w, c];
}
model convnext_tiny {
  dim B = 1;  dim S = 224;  dim D = 96;  type E = f16;
  dim layers = [3, 3, 9, 3];  dim times = [1, 2, 4, 8];
  input x : E[B, 3, S, S];
  h = norm2d(conv(x, out = D, kernel = 4, stride = 4) as "features.0.0") as "features.0.1";
  for i in 0..4 {
    if (i > 0) {
      h = conv(norm2d(h) as "features.{2 * i}.0", out = D * times[i], kernel = 2, stride = 2) as "features.{2 * i}.1";
    }
    for l in 0..layers[i] { h = layer(h) as "features.{2 * i + 1}.{l}"; }
  }
  t = norm(global_avg_pool(h)) as "classifier.0";
  output logits = dense(t, out = 1000) as "classifier.2";
}
