block dense(x: T[.., D]; out) -> y {
  param w : T[out, D] = "weight";
  y = linear(x, w);
}
model m {
  input x : f32[4, 4];
  output y = dense(x, width = 3);
}
