// Losses and optimizers of the library.
model tr_library {
  dim B = 6;
  input x : f32[B, 9];
  input t : i32[B] in 0..5;
  input y : f32[B, 5];
  input lr : f32;
  param w1 : f32[8, 9];
  param b1 : f32[8];
  param w2 : f32[5, 8];
  param w3 : f32[5];
  param w4 : f32[5];
  h = tanh(linear(x, w1, b1));
  z = linear(h, w2, w3) * w4;
  loss = cross_entropy(z, t, smoothing = 0.1) + cross_entropy(z, t, ignore = 2) + mse(z, y)
      + bce(z, y);
  for v in params {
    if ("{v}" == "w1") {
      v = adam(v, grad(loss, v), lr) as "adam.{v}";
    } else if ("{v}" == "b1") {
      v = adamw(v, grad(loss, v), lr) as "adamw.{v}";
    } else if ("{v}" == "w2") {
      v = sgd(v, grad(loss, v), lr, momentum = 0.9, nesterov = true) as "sgd.{v}";
    } else if ("{v}" == "w3") {
      v = sgd(v, grad(loss, v), 0.125, momentum = 0.9, decay = 0.01) as "sgd.{v}";
    } else {
      v = sgd(v, grad(loss, v), lr) as "sgd.{v}";
    }
  }
  output loss;
}
