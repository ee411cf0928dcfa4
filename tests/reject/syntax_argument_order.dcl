model m {
  input x : f32[4, 4];
  output y = softmax(axis = 1, x);
}
