model flip {
  type E = f16;
  input x : E[32,64,112,112];
  output y[n,c,h,w in 0..112] = x[n,c,h,111-w];
}
