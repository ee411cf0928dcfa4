// A two-layer perceptron; PyTorch's weight names.
model mlp {
  dim B = 128;  dim D = 512;  dim H = 1024;  dim C = 10;  type E = f16;
  input x : E[B, D];
  param w1 : E[H, D] = "fc1.weight";  // [out, in], as nn.Linear keeps it
  param b1 : E[H] = "fc1.bias";
  param w2 : E[C, H] = "fc2.weight";
  param b2 : E[C] = "fc2.bias";

  h[i, j] = relu(sum(k) x[i, k] * w1[j, k] + b1[j]);  // a tensor expression
  z = linear(h, w2, b2);  // an operator of the library
  output y = softmax(z);
}
