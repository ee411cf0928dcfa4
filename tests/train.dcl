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
