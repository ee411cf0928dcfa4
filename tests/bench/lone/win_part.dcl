model win_part {
  type E = f16;
  input x : E[32,56,56,96];
  output y[n,i in 0..8,j in 0..8,p in 0..7,q in 0..7,c] = x[n,(i*7+p+3)%56,(j*7+q+3)%56,c];
}
