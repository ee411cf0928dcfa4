op f(x: T[..]) -> y { y = x }
op g(x: T[..]) -> y { if (1 == 1) { y = x } else { y = x; } }
op h(x: T[..]) -> y { for i in 0..2 { y = x; z = y } y = x @ x; }
block k(x: T[..]; a = ) -> y { y = x; }
model m {
  input x : f32[4]
  output y = f(x);
}
model n { input x : f32[4]; y += x; import z; y = x & y; output y; }
