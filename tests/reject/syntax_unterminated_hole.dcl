model m {
  for l in 0..3 { x = f(x) as "layer.{l; }
  output y = x;
}
