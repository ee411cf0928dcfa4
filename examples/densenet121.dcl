// DenseNet-121, torchvision's weight names: every layer reads all that was made before it in its block
block bn(x: T[N, C, ..]) -> y {
  param g : T[C] = "weight";        param b : T[C] = "bias";
  param m : T[C] = "running_mean";  param v : T[C] = "running_var";
  y = batch_norm(x, g, b, m, v);
}
block conv(x: T[N, C, H, W]; out, kernel = 1, stride = 1) -> y {
  param w : T[out, C, kernel, kernel] = "weight";
  y = conv2d(x, w, stride = stride, pad = kernel / 2);
}
block layer(x: T[N, C, H, W]; growth) -> y {
  h = conv(relu(bn(x) as "norm1"), out = 4 * growth) as "conv1";
  y = concat(x, conv(relu(bn(h) as "norm2"), out = growth, kernel = 3) as "conv2", axis = 1);
}
block transition(x: T[N, C, H, W]) -> y {
  h = conv(relu(bn(x) as "norm"), out = C / 2) as "conv";
  y = avg_pool(h, kernel = 2);
}
model densenet121 {
  dim B = 1;  dim S = 224;  dim K = 32;  type E = f16;      // K: the channels that a layer adds
  dim layers = [6, 12, 24, 16];
  input x : E[B, 3, S, S];
  h = relu(bn(conv(x, out = 2 * K, kernel = 7, stride = 2) as "features.conv0") as "features.norm0");
  h = max_pool(h, kernel = 3, stride = 2, pad = 1);
  for i in 0..4 {
    for j in 0..layers[i] { h = layer(h, growth = K) as "features.denseblock{i + 1}.denselayer{j + 1}"; }
    if (i < 3) { h = transition(h) as "features.transition{i + 1}"; }
  }
  h = global_avg_pool(relu(bn(h) as "features.norm5"));
  param w : E[1000, 32 * K] = "classifier.weight";
  param b : E[1000]         = "classifier.bias";
  output logits = linear(h, w, b);
}
