model m {
  dim D = 4;
  input x : f32[D, D];
  input pos : i32;
  y[D] = x[D, 0];
  z[i] = sum(i) x[i, i];
  w[] = sum(pos) x[pos, pos];
  for l in 0..3 { u[i] = sum(l) x[i, l]; }
  output y;
}
