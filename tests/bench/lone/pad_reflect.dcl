model pad_reflect {
  type E = f16;
  input x : E[32,64,112,112];
  output y[n,c,h in 0..118,w in 0..118] = x[n,c,min(abs(h-3),222-abs(h-3)),min(abs(w-3),222-abs(w-3))] or 0;
}
