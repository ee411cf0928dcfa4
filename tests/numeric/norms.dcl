// Norms between products, without a kernel of their own: sums over pieces of
// rows by the product that makes them, the norm in the factor of the next.
model no_layer {
  input x : f16[130, 64]; input r : f16[130, 96]; param v : f16[96, 64]; param c : f16[96];
  param g : f16[96]; param b : f16[96]; param w : f16[136, 96];
  h = linear(x, v, c) + r;
  output y = relu(linear(layer_norm(h, g, b), w)); output s = h * 2;
}
model no_rms {
  input x : bf16[3, 50, 72]; param v : bf16[160, 72]; param g : bf16[160]; param w : bf16[64, 160];
  output y = linear(rms_norm(linear(x, v), g), w);
}
// by the length of rows, of a product without a residual; all in one user's op
op unit(x: T[.., D]; eps = 1e-3) -> y: T[.., D] {
  n[..] : f32 = sum(d) f32(x[.., d]) * x[.., d];
  m[..] : f32 = mean(d) x[.., d];
  y[.., d] = 0.5 + (x[.., d] + m[..]) / sqrt(n[..] + eps);
}
model no_unit {
  input x : f16[70, 128]; param v : f16[224, 128]; param w : f16[80, 224];
  output y = relu(linear(unit(linear(x, v)), w));
}
// a norm's result is the next residual; weights that lie the other way
model no_post {
  input x : f16[2, 40, 64]; param p : f16[128, 64]; param g : f16[128]; param b : f16[128];
  param u : f16[192, 128]; param d : f16[128, 192]; param c : f16[128];
  param q : f16[128, 96]; param g2 : f16[128]; param b2 : f16[128];
  h = layer_norm(linear(x, p), g, b, eps = 1e-12);
  f = gelu(linear(h, u));
  z = layer_norm(h + linear(f, d, c), g2, b2);
  output y = matmul(z, q);
}
// two products of one norm, far from 0
model no_two {
  input x : f16[100, 64]; param v : f16[64, 64]; param c : f16[64]; param w : f16[48, 64]; param u : f16[32, 64];
  h[i, j] : f16 = (sum(k) 0.3 * x[i, k] * v[j, k]) + 4 + c[j];
  n = layer_norm(h);
  output y = linear(n, w); output z = relu(linear(n, u));
}
// columns that end within a tile, and a result that is stored, too
model no_ragged {
  input x : f16[300, 96]; param w : f16[48, 96]; param g : f16[48]; param b : f16[48];
  param v : f16[144, 48];
  h = linear(x, w);
  output s = h; output y = linear(layer_norm(h, g, b), v);
}
