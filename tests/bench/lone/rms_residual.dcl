model rms_residual {
  type E = f16;
  input x : E[8192,4096];
  input r : E[8192,4096];
  param g : E[4096];
  h = x + r;
  output h;
  output y = rms_norm(h, g);
}
