// A loss whose gradient by a weight computes the logits again, without their
// rounding to bf16, which the gradient by what the logits are of reads.
model logits {
  input x : bf16[300, 40];
  input t : i32[300] in 0..63;
  param w : bf16[40, 40] = normal(0.3);
  param u : bf16[63, 40] = normal(0.3);
  output loss = cross_entropy(linear(gelu(linear(x, w)), u), t);
  for v in params { v = v - 0.1 * grad(loss, v); }
}
