// Handwritten digits of 8 x 8 pixels: a convolutional network from its random beginning to about 98% of images that it never
// saw. `digits_train` trains; `digits_check` looks at other images with the same parameters.
//
//   dcc train examples/digits_train.dcl --data examples/digits/train.safetensors \
//       --validate examples/digits/held_out.safetensors --steps 528 --save digits.safetensors
block unit(x: T[N, C, H, W]; out, stride) -> y {
  param w : T[out, C, 3, 3] = "weight" or kaiming();
  param b : T[out] = "bias" or zeros;
  y = relu(conv2d(x, w, b, stride = stride, pad = 1));
}
block network(x: T[N, C, H, W]) -> z {
  h = unit(x, out = 16, stride = 1) as "unit1";
  h = unit(h, out = 32, stride = 2) as "unit2";
  h = unit(h, out = 32, stride = 2) as "unit3";
  param w : T[10, 128] = "fc.weight" or xavier();
  param b : T[10] = "fc.bias" or zeros;
  z = linear(reshape(h, shape = [N, 128]), w, b);
}
model digits_train {
  dim B = 32;  type E = f32;
  input x : E[B, 1, 8, 8];
  input t : i32[B] in 0..10;
  input step : i32;
  output loss = cross_entropy(network(x) as "", t, smoothing = 0.05);
  // a rate that falls to nothing over 12 epochs, each step's own
  rate = 0.004 * max(1 - f32(step) / 528, 0.0);
  for w in params {
    w = adamw(w, grad(loss, w), rate, decay = rank(w) > 1 ? 0.02 : 0) as "adamw.{w}";
  }
}
model digits_check {
  dim B = 60;  type E = f32;
  input x : E[B, 1, 8, 8];
  input t : i32[B] in 0..10;
  z = network(x) as "";
  output loss = cross_entropy(z, t);
  output digit = argmax(z);
  output right[b] = f32(digit[b] == t[b]);
}
