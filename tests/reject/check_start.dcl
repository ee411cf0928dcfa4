block f(x: T[..]) -> y {
  param w : T[..] = normal;
  param v : T[..] = norml(2);
  param u : T[..] = normal(1, sdt = 2);
  param t : T[..] = "t" or "s";
  param s : T[..] = uniform(1);
  param r : T[..] = uniform(1, 2, 3);
  param q : T[..] = uniform(1, low = 2) as "a";
  param p : T[..] = x;
  param zeros : T[..] = zeros;
  y[..] = x[..] * w[..];
}
model m {
  input x : f32[4];
  output y = f(x);
}
