// ResNet-50, torchvision's weight names
block conv(x: T[N, C, H, W]; out, kernel = 1, stride = 1) -> y {
  param w : T[out, C, kernel, kernel] = "weight";
  y = conv2d(x, w, stride = stride, pad = kernel / 2);
}
block bn(x: T[N, C, ..]) -> y {
  param g : T[C] = "weight";        param b : T[C] = "bias";
  param m : T[C] = "running_mean";  param v : T[C] = "running_var";
  y = batch_norm(x, g, b, m, v);
}
block bottleneck(x: T[N, C, H, W]; width, stride = 1) -> y {
  h = relu(bn(conv(x, out = width) as "conv1") as "bn1");
  h = relu(bn(conv(h, out = width, kernel = 3, stride = stride) as "conv2") as "bn2");
  h = bn(conv(h, out = 4 * width) as "conv3") as "bn3";
  if (C == 4 * width) { y = relu(h + x); }
  else { y = relu(h + bn(conv(x, out = 4 * width, stride = stride) as "downsample.0") as "downsample.1"); }
}
model resnet50 {
  dim B = 1;  dim S = 224;  dim W = 64;  type E = f16;     // W: channels of the first layer
  input x : E[B, 3, S, S];
  h = relu(bn(conv(x, out = W, kernel = 7, stride = 2) as "conv1") as "bn1");
  h = max_pool(h, kernel = 3, stride = 2, pad = 1);
  for i in 0..3 { h = bottleneck(h, width = W) as "layer1.{i}"; }
  for i in 0..4 { h = bottleneck(h, width = 2 * W, stride = i == 0 ? 2 : 1) as "layer2.{i}"; }
  for i in 0..6 { h = bottleneck(h, width = 4 * W, stride = i == 0 ? 2 : 1) as "layer3.{i}"; }
  for i in 0..3 { h = bottleneck(h, width = 8 * W, stride = i == 0 ? 2 : 1) as "layer4.{i}"; }
  param w : E[1000, 32 * W] = "fc.weight";
  param b : E[1000]         = "fc.bias";
  output logits = linear(global_avg_pool(h), w, b);
}
