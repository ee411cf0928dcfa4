// Handwritten digits of 8 x 8 pixels: a convolutional network from its random beginning to more than 98% of images that it
// never saw. `digits_train` trains; `digits_check` looks at other images with the same parameters.
//
//   dcc train examples/digits_train.dcl --data examples/digits/train.safetensors \
//       --validate examples/digits/held_out.safetensors --steps 1320 --save digits.safetensors

// Each image turned, stretched, slanted and shifted a little, differently in each step: u has five draws for each. What is
// read between pixels is interpolated, and 0 outside.
op another_hand(x: T[N, C, H, W], n: i32; turn = 0.25, stretch = 0.15, shift = 0.7)
    -> y: T[N, C, H, W] {
  none[b in 0..N, k in 0..5] : f32 = 0;
  r = random(n, none);
  u[b, k] = 2 * r[b, k] - 1;
  g[b, i in 0..H, j in 0..W] : f32 =
      (i - (H - 1) / 2.0) * (1 + stretch * u[b, 0]) * cos(turn * u[b, 1])
      + (j - (W - 1) / 2.0) * sin(turn * u[b, 1]) + (H - 1) / 2.0 + shift * u[b, 2];
  h[b, i in 0..H, j in 0..W] : f32 =
      (j - (W - 1) / 2.0) * (1 + stretch * u[b, 0]) * cos(turn * u[b, 1])
      - (i - (H - 1) / 2.0) * (sin(turn * u[b, 1]) + stretch * u[b, 3]) + (W - 1) / 2.0
      + shift * u[b, 4];
  p[b, i, j] = i32(floor(g[b, i, j]));
  q[b, i, j] = i32(floor(h[b, i, j]));
  v[b, i, j] = g[b, i, j] - p[b, i, j];
  w[b, i, j] = h[b, i, j] - q[b, i, j];
  y[b, c, i, j] = (1 - v[b, i, j])
      * ((1 - w[b, i, j]) * (x[b, c, p[b, i, j], q[b, i, j]] or 0)
          + w[b, i, j] * (x[b, c, p[b, i, j], q[b, i, j] + 1] or 0))
      + v[b, i, j]
      * ((1 - w[b, i, j]) * (x[b, c, p[b, i, j] + 1, q[b, i, j]] or 0)
          + w[b, i, j] * (x[b, c, p[b, i, j] + 1, q[b, i, j] + 1] or 0));
}
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
  output loss = cross_entropy(network(another_hand(x, step)) as "", t, smoothing = 0.05);
  // a rate that falls to nothing over 30 epochs, each step's own
  rate = 0.004 * max(1 - f32(step) / 1320, 0.0);
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
