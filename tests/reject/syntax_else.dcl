model m {
  else { x = 3; }
  output y = x;
}
