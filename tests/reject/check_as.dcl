block dense(x: T[.., D]; out) -> y {
  param w : T[out, D] = "weight.{x}.{k}";
  y = linear(x, w);
}
model m {
  input x : f32[4, 4];
  output y = dense[l](x, out = 3) as "h.{l}";
}
