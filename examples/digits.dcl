// Handwritten digits of 8 x 8 pixels: a small convolutional network.
// examples/digits/ has its trained weights, test images and their labels.
block unit(x: T[N, C, H, W]; out) -> y {
  param w : T[out, C, 3, 3] = "conv.weight";
  param g : T[out] = "bn.weight";        param b : T[out] = "bn.bias";
  param m : T[out] = "bn.running_mean";  param v : T[out] = "bn.running_var";
  y = relu(batch_norm(conv2d(x, w, pad = 1), g, b, m, v));
}
model digits {
  dim B = 360;  type E = f32;
  input x : E[B, 1, 8, 8];
  h = unit(x, out = 16) as "unit1";
  h = max_pool(unit(h, out = 32) as "unit2", kernel = 2);
  h = max_pool(unit(h, out = 32) as "unit3", kernel = 2);
  param w : E[10, 128] = "fc.weight";
  param b : E[10]      = "fc.bias";
  output logits = linear(reshape(h, shape = [B, 128]), w, b);
  output digit  = argmax(logits);
}
