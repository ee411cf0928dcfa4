// Gradients that are 0 where nothing but rounding is left of them in doubles.
model softmax_sum {
  input x : f32[4, 9];
  p = softmax(x);
  output loss[] = sum(i, j) p[i, j];
  output g = grad(loss, x);
}
model norm_sum {
  input x : f32[4, 9];
  param w : f32[9, 9];
  p = layer_norm(linear(x, w));
  output loss[] = sum(i, j) p[i, j];
  output gx = grad(loss, x);
  output gw = grad(loss, w);
}
// a bias that a batch norm takes away, before a greatest element
model bias {
  input x : f32[3, 4, 6];
  param b : f32[4];
  param g : f32[4];
  param s : f32[4];
  h[n, c, i] = x[n, c, i] + b[c];
  p = relu(batch_norm_train(h, g, s));
  m[n, c, i in 0..3] = max(r in 0..2) p[n, c, 2 * i + r];
  output loss[] = sum(n, c, i) m[n, c, i] * m[n, c, i] * i;
  output gb = grad(loss, b);
}
// of all keys
model keys {
  input x : f32[2, 6, 8];
  param b : f32[8];
  k = x + b;
  a = attention(x, k, x);
  output loss[] = sum(i, j, d) a[i, j, d] * a[i, j, d];
  output g = grad(loss, b);
}
