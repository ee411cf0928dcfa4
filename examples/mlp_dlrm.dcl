// The top perceptron of a recommendation model, 512-1024-1024-512-256-1:
// torch.nn.Sequential(Linear, ReLU, Linear, ReLU, ..., Linear, Sigmoid)
block dense(x: T[B, D]; out) -> y {
  param w : T[out, D] = "weight";
  param b : T[out]    = "bias";
  y = linear(x, w, b);
}
model mlp_dlrm {
  dim B = 128;  dim D = 512;  dim H = 1024;  type E = f16;
  input x : E[B, D];
  h = relu(dense(x, out = H)     as "0");
  h = relu(dense(h, out = H)     as "2");
  h = relu(dense(h, out = H / 2) as "4");
  h = relu(dense(h, out = H / 4) as "6");
  output y = sigmoid(dense(h, out = 1) as "8");
}
