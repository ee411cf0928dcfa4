// Parameters that begin by initialisers; nothing else, so that no file is
// needed.
model start {
  type E = f16;
  param x : E[3, 40] = normal(2, mean = 1);
  param a : bf16[7, 5, 3] = kaiming;
  param f : f32[7, 5, 3] = xavier(2);
  param g : f32[9, 3] = xavier_uniform;
  param i : i8[4] = 300;
  param o : f32[4] = ones;
  param z : f32[4] = zeros;
  output h[i, j] = x[i, j];
  output p[i, j, k] = a[i, j, k];
  output q[i, j, k] = f[i, j, k];
  output r[i, j] = g[i, j];
  output s[j] = i[j] + o[j] + z[j];
}
