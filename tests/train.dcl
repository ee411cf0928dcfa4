// What tests/train.sh trains.
block layers(x: T[N, D]) -> z {
  param w1 : T[16, D] = "fc1.weight";
  param b1 : T[16] = "fc1.bias";
  param w2 : T[5, 16] = "fc2.weight";
  z = linear(tanh(linear(x, w1, b1)), w2);
}
model step {
  dim B = 8;
  type E = f16;
  input x : E[B, 13];
  input t : i32[B] in 0..5;
  input lr : f32;
  input step : i32;
  z = layers(x) as "";
  output loss = cross_entropy(z, t);
  output rate = lr / (1 + f32(step) / 10);
  for w in params { w = adamw(w, grad(loss, w), rate) as "adamw.{w}"; }
}
// the same parameters as f16, packed for another batch
model look {
  input x : f16[24, 13];
  input t : i32[24] in 0..5;
  z = layers(x) as "";
  output loss = cross_entropy(z, t);
  d = argmax(z);
  output right[b] = f32(d[b] == t[b]);
}
// --random --save of it are the rows
model rows {
  input x : f16[70, 13];
  input t : i32[70] in 0..5;
  output y[b] = f32(x[b, 0]) + t[b];
}
// A batch norm whose running statistics the other model reads, and a step
// that is skipped where its loss or a gradient is not finite.
block normed(x: T[N, D]; training) -> z {
  param w : T[16, D] = "fc1.weight" or kaiming;
  param g : T[16] = "norm.weight" or ones;
  param b : T[16] = "norm.bias" or zeros;
  param v : T[5, 16] = "fc2.weight" or xavier;
  h = linear(x, w);
  if (training) {
    n = batch_norm_train(h, g, b) as "norm";
  } else {
    param m : T[16] = "norm.running_mean";
    param s : T[16] = "norm.running_var";
    n = batch_norm(h, g, b, m, s);
  }
  z = linear(tanh(n), v);
}
model fit {
  input x : f16[8, 13];
  input t : i32[8] in 0..5;
  state scale : f32 = 65536;
  output loss = cross_entropy(normed(x, training = true) as "", t);
  scaled = loss * scale;
  s : f32 = 0;
  for w in params { s = s + square_sum(grad(scaled, w)); }
  ok = finite(s);
  for w in params { w = sgd(w, grad(scaled, w) / scale, 0.1, ok) as "sgd.{w}"; }
  scale = scaler(scale, ok, interval = 5) as "";
  output skipped = ok ? 0 : 1;
}
model fitted {
  input x : f16[70, 13];
  input t : i32[70] in 0..5;
  output loss = cross_entropy(normed(x, training = false) as "", t);
}
