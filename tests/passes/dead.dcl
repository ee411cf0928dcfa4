// What no output and no state needs is not computed.
model dead {
  input x : f32[9];
  param w : f32[9];
  a = exp(x);
  b = a * w;
  state n : f32[9];
  n = n + x;
  output y = x * w;
}
