// Values of few rows that products take: each block of them computes those
// itself, and there is no kernel of their own.
model fr_norm {
  input x : f16[5, 200]; param g : f16[200]; param b : f16[200]; param w : f16[96, 200]; param c : f16[96];
  param v : f16[96, 72]; param r : f16[96];
  h = linear(layer_norm(x * 0.5, g, b), w, c);
  output y = matmul(rms_norm(h + 3.0, r), v);
}
// of one row, in bf16; two products of the same values
model fr_one {
  input x : bf16[1, 136]; param w : bf16[64, 136]; param u : bf16[136, 48];
  n = layer_norm(x);
  output y = linear(n, w); output z = relu(matmul(n, u));
}
// the greatest of a row and the sum of what it is subtracted from
model fr_softmax {
  input x : f32[3, 2, 75]; param w : f32[75, 130];
  output y = matmul(softmax(x * 4.0), w);
}
// rows far from 0, split among blocks
model fr_far {
  input x : f16[16, 1040]; param w : f16[1040, 80];
  h[i, k] : f16 = x[i, k] + 40;
  output y = matmul(layer_norm(h), w);
}
// of a row whose elements threads share unequally, 768 by 512
model fr_unequal {
  input x : f16[1, 768]; param g : f16[768]; param b : f16[768]; param w : f16[768, 2304]; param c : f16[2304];
  output y = matmul(layer_norm(x, g, b), w) + c;
}
