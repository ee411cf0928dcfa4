model m {
  input x : f32[4];
  input n : i32;
  dim A = n;
  dim B = sqrt(relu(3));
  dim C = x[0];
  dim D = sum(i) x[i];
  a[i] = slice(x[i], axis = i);
  require x > 3;
  for l in 0..n { }
  output y = x;
}
