block f(x: T[..]; type E = f16, type F) -> y { y = x; }
model m {
  input x : f32[4];
  dim K = [1, 2];
  y = f(x, F = 3);
  z = f[1](x, E = f33, F = f32) * f16 + K;
  output u[i in 0..K] = x[i];
}
