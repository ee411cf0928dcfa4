model rot_3x3 {
  type E = f16;
  input r : E[4096,3,3];
  input p : E[4096,512,3];
  input t : E[4096,3];
  output y[n,m,i] = sum(j) r[n,i,j]*p[n,m,j] + t[n,i];
}
