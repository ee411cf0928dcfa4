model m {
  dim n = 4;
  input x : f32[n];
  n[] = sum(i) x[i];
  output y = x;
}
