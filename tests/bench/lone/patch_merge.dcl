model patch_merge {
  type E = f16;
  input x : E[32,56,56,96];
  param g : E[384];
  param b : E[384];
  t[n,h in 0..28,w in 0..28,c in 0..384] = x[n,2*h+c/96%2,2*w+c/192,c%96];
  output y = layer_norm(t, g, b);
}
