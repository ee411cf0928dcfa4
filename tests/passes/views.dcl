// Reshapes, transposes, slices and concatenations cost no statement of their own.
model views {
  input x : f16[4, 6, 8];
  a = reshape(transpose(x, perm = [1, 0, 2]), shape = [6, 32]);
  b = slice(a, axis = 1, first = 8, last = 24);
  output y = relu(concat(b, b * 2, axis = 0));
}
