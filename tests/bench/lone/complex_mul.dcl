model complex_mul {
  type E = f16;
  input a : E[1024,1024,2];
  input b : E[1024,1024,2];
  output y[i,j,c in 0..2] = c == 0 ? a[i,j,0]*b[i,j,0]-a[i,j,1]*b[i,j,1] : a[i,j,0]*b[i,j,1]+a[i,j,1]*b[i,j,0];
}
