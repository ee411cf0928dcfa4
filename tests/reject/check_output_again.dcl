model m {
  input x : f32[4];
  output y = x * 2;
  y = y + 1;
  output y;
  output y = 3;
  output x;
  output z;
}
