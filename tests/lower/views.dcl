// reshape, transpose, concat
model views {
  input x : f32[4, 6];
  input h : f16[4, 6];
  a = reshape(x, shape = [5, -1]);
  b = reshape(x, shape = [-1, -1]);
  c = reshape(x, shape = [4, 7]);
  d = transpose(x, perm = [0, 0]);
  e = transpose(x, perm = [0]);
  f = concat(x, h, axis = 0);
  g = concat(x, a, x, axis = 1);
  i = concat(x, x, axis = 2);
  k = reshape(x, shape = [2.5]);
  output o = x;
}
