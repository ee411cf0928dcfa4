block head(x: T[.., D]; std) -> y {
  param w : f32[8, D] = normal(std);
  y = linear(x, w);
}
model m {
  input x : f32[2, 4];
  param b : f32[4] = kaiming;
  param i : i32[4] = normal(1);
  param n : f32[4] = normal(0 - 1);
  param u : f32[4] = uniform(2, 1);
  param s : f32[4] = "s" == "t" ? "s" : "t";
  param k : f32[4, 4] = xavier(gain = inf);
  output y = head(x, std = 0.1) as "h";
  output z = head(x, std = 0.2) as "h";
}
