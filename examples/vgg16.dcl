// VGG-16, torchvision's weight names; dropout is the identity at inference
block conv(x: T[N, C, H, W]; out) -> y {
  param w : T[out, C, 3, 3] = "weight";
  param b : T[out]          = "bias";
  y = relu(conv2d(x, w, b, pad = 1));
}
block dense(x: T[N, D]; out) -> y {
  param w : T[out, D] = "weight";
  param b : T[out]    = "bias";
  y = linear(x, w, b);
}
model vgg16 {
  dim B = 1;  dim S = 224;  dim W = 64;  dim H = 4096;  type E = f16;
  input x : E[B, 3, S, S];
  h = conv(x, out = W) as "features.0";
  h = max_pool(conv(h, out = W) as "features.2", kernel = 2);
  h = conv(h, out = 2 * W) as "features.5";
  h = max_pool(conv(h, out = 2 * W) as "features.7", kernel = 2);
  h = conv(h, out = 4 * W) as "features.10";
  h = conv(h, out = 4 * W) as "features.12";
  h = max_pool(conv(h, out = 4 * W) as "features.14", kernel = 2);
  h = conv(h, out = 8 * W) as "features.17";
  h = conv(h, out = 8 * W) as "features.19";
  h = max_pool(conv(h, out = 8 * W) as "features.21", kernel = 2);
  h = conv(h, out = 8 * W) as "features.24";
  h = conv(h, out = 8 * W) as "features.26";
  h = max_pool(conv(h, out = 8 * W) as "features.28", kernel = 2);
  h = relu(dense(reshape(h, shape = [B, -1]), out = H) as "classifier.0");
  h = relu(dense(h, out = H) as "classifier.3");
  output logits = dense(h, out = 1000) as "classifier.6";
}
