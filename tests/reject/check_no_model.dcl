op f(x: T[..]) -> y { y = x; }
