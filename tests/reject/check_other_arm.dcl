model m {
  dim D = 4;
  input x : f32[D];
  if (D > 3) { h = x + 1; y = h; } else { y = h; }
  output z = y;
}
