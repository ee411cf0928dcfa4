// What tests/train.sh fits into half the memory: norms and relus that are computed again
// wait for the gradients that read them.
block stage(x: T[N, C, H, W]) -> y {
  param w : T[C, C, 3, 3] = kaiming;
  param g : T[C] = ones;  param b : T[C] = zeros;
  y = relu(batch_norm_train(conv2d(x, w, pad = 1), g, b));
}
model tall {
  input x : f16[16, 8, 32, 32];  input t : i32[16] in 0..10;
  h = x;
  for l in 0..10 { h = stage[l](h); }
  h = max_pool(h, kernel = 2);
  param v : f16[10, 8] = xavier;
  output loss = cross_entropy(linear(global_avg_pool(h), v), t);
  for p in params { p = p - 0.1 * grad(loss, p); }
}
// Logits are most of its memory. Made again, they are the values of one statement, and their
// gradient alone is there; what sums a row of them is kept.
model classes {
  input x : f16[4096, 512];  input t : i32[4096] in 0..4000;
  param w : f16[512, 512] = xavier;  param v : f16[4000, 512] = xavier;
  output loss = cross_entropy(linear(linear(x, w), v), t);
  for p in params { p = p - 0.1 * grad(loss, p); }
}
// A recurrent network: what each step gives of its weights' gradients is not kept to the end.
model recurrent {
  input x : f16[16, 24, 40];  input t : i32[16] in 0..7;
  param w : f16[64, 40] = xavier;  param u : f16[64, 64] = xavier;  param v : f16[7, 64] = xavier;
  h : f16[16, 64] = 0;
  for s in 0..24 {
    y[n, k] = x[n, s, k];
    h = tanh(linear(y, w) + linear(h, u));
  }
  output loss = cross_entropy(linear(h, v), t);
  for p in params { p = p - 0.1 * grad(loss, p); }
}
