// What else tests/train.sh trains.
//
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
// Layers enough for --memory. All numbers are whole and small, so that every
// sum is exact in whatever order a kernel adds.
block layer(x: T[N, D], k: T[D, D]) -> y {
  param w : T[D, D] = zeros;
  y = clip(x + linear(x, w + k), low = -1, high = 1);
}
model deep {
  input x : i32[512, 16] in -1..2;
  input z : i32[512, 16] in -2..3;
  input k : i32[12, 16, 16] in -1..2;
  h = f32(x);
  for l in 0..12 {
    c[i, j] : f32 = k[l, i, j];
    h = layer[l](h, c);
  }
  output loss[] : f32 = sum(i, j) h[i, j] * z[i, j];
  for w in params { w = w - clip(grad(loss, w), low = -1, high = 1); }
}
// The rows of which one is not a number.
model spoil {
  input a : f16[70, 13];
  input b : i32[70] in 0..5;
  output x[i, j] : f16 = i == 33 ? sqrt(a[i, j] - 1000) : a[i, j];
  output t = b;
}
// Inputs with promises, and more numbers than a line of the log had.
model promised {
  input x : f16[8, 13];
  input step : i32 in 0..10;
  input k : i8 in -3..5;
  param w : f32[5, 13] = normal(0.1);
  param rates : f32[10] = 0.01;
  r[] = rates[step];
  z = linear(f32(x), w);
  for i in 0..20 { m[i] = mean(b, j) z[b, j] * (i + 1); }
  output m0[] = m[0];
  output m1[] = m[1];
  output m2[] = m[2];
  output m3[] = m[3];
  output m4[] = m[4];
  output m5[] = m[5];
  output m6[] = m[6];
  output m7[] = m[7];
  output m8[] = m[8];
  output m9[] = m[9];
  output m10[] = m[10];
  output m11[] = m[11];
  output m12[] = m[12];
  output m13[] = m[13];
  output m14[] = m[14];
  output m15[] = m[15];
  output m16[] = m[16];
  output m17[] = m[17];
  output m18[] = m[18];
  output m19[] = m[19];
  output loss = mse(z, z * 0 + k);
  for v in params {
    if ("{v}" == "w") { v = v - r * grad(loss, v); }
  }
}
// A number that is among the data, and a batch that these do not fill.
model numbered {
  input a : f16[70, 13];
  output x = a * 1;
  output k[] : i32 = 2;
}
model few {
  input a : f16[70, 13];
  input b : i32[70] in 0..5;
  output x[i in 0..5, j] = a[i, j];
  output t[i in 0..5] = b[i];
}
