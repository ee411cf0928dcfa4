op total(x: T[..]) -> s { s[] = sum(..) x[..] * 2; }
op most(x: T[..]) -> s { s[] = max(..) x[..]; }
model m {
  input a : f32;
  input b : f32[5, 3];
  output p = total(a);
  output q = most(a);
  output r = total(b);
}
