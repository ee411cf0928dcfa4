block norm(x: T[N, C]) -> y {
  state mean : f32[C] = "mean" or zeros;
  mean[c] = mean[c] + x[0, c];
  y[n, c] = x[n, c] - mean[c];
}
model m {
  input x : f32[2, 4];
  param w : f32[4] = "a.mean";
  state q : f32[4] = "b.mean" or 2;
  state typed : i32[4] = "typed" or kaiming;
  output y = norm(x) as "a";
  output z = norm(x) as "b";
  for v in params { v = v - grad(sum(y), v); }
}
