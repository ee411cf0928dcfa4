model m {
  for i in 3 { x = i; }
  for j on 0..3 { x = j; }
  output y = x;
}
