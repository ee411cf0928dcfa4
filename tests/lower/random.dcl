model m {
  input n : i32;
  input k : f32;
  input x : f32[4];
  input z : f32[65536, 32768];
  output a[i] = dropout(x[i], n);
  output b = random(n, z);
  output c = random(k, x);
}
