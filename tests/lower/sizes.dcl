// sizes, overflow, limits
model sizes {
  dim A = 0;
  dim B = 5 - 7;
  dim C = 2147483648;
  dim D = 1.5;
  dim E = 9223372036854775807 + 1;
  dim F = 100000;
  dim G = F / 0;
  dim H = "x";
  input a : f32[0];
  input b : f32[F, F, F];
  input c : f32[1, 1, 1, 1, 1, 1, 1, 1, 1];
  input x : f32[4];
  input g : f32[G];
  input k : f32[B];
  input e : i32[4] in 5..5;
  y[i in 0..F, j in 0..F, k in 0..F] = x[0];
  require F > 100000 && F % 7 == 1;
  for i in 0..F { require i * i < 2; }
  output z = x;
}
