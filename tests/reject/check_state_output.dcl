model m {
  state s : f32[4];
  output s;
  output s = s + 1;
}
