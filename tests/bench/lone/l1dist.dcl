model l1dist {
  type E = f16;
  input a : E[2048,64];
  input b : E[2048,64];
  output y[i,j] : E = sum(c) abs(f32(a[i,c]) - b[j,c]);
}
