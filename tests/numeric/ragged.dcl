// Rows that end within a vector: tensors of a run have padding behind them, and
// outputs begin at any element.
model rg_attention { input q : f16[2, 3, 53, 64]; input k : f16[2, 3, 53, 64]; input v : f16[2, 3, 53, 64]; output a = attention(q, k, v); }
model rg_causal { input q : f16[2, 77, 32]; input k : f16[2, 77, 32]; input v : f16[2, 77, 40]; output a = attention(q, k, v, causal = true); }
model rg_attention_f32 { input q : f32[2, 45, 24]; input k : f32[2, 37, 24]; input v : f32[2, 37, 16]; output a = attention(q, k, v); }
model rg_two { input x : f16[70, 96]; param w : f16[99, 96]; param b : f16[99]; param v : f16[72, 99]; output y = linear(relu(linear(x, w, b)), v); }
model rg_two_bf16 { input x : bf16[130, 64]; input w : bf16[64, 37]; input v : bf16[37, 136]; output y = matmul(matmul(x, w), v); }
model rg_norm {
  input x : f16[67, 64]; param w : f16[91, 64]; param r : f16[67, 91]; param g : f16[91]; param v : f16[40, 91];
  output y = linear(rms_norm(linear(x, w) + r, g), v);
}
model rg_softmax { input x : f16[33, 72]; param w : f16[53, 72]; param b : f16[53]; output y = softmax(linear(x, w, b)); }
model rg_f32_rows { input x : f32[41, 40]; param w : f32[35, 40]; param v : f32[24, 35]; h = linear(x, w); m[i] = max(j) h[i, j]; n[i, j] = h[i, j] / (1 + m[i]); output y = linear(n, v); }
model rg_transposed { input x : f16[3, 64, 40]; input w : f16[3, 40, 43]; input z : f16[3, 64, 24]; h = matmul(x, w); output y[n, j, c] = sum(i) h[n, i, j] * z[n, i, c]; }
model rg_lines { input x : f16[150, 64]; param w : f16[257, 64]; param b : f16[257]; output y = gelu(linear(x, w, b)); }
model rg_even_lines { input x : bf16[75, 96]; param w : bf16[102, 96]; output y = linear(x, w); }
model rg_batched_lines { input a : f16[3, 70, 64]; input b : f16[3, 64, 65]; output y = matmul(a, b); }
model rg_joined { input x : f16[2, 6, 9, 40]; param a : f16[45, 40]; param b : f16[48, 40]; param w : f16[24, 93, 3, 3]; p = relu(linear(x, a)); q = relu(linear(x, b)); c = transpose(concat(p, q, axis = 3), perm = [0, 3, 1, 2]); output y = conv2d(c, w, pad = 1); }
model rg_joined_back { input x : f16[60, 40]; param w : f16[53, 40]; param g : f16[40]; param v : f16[48, 93]; output y = linear(concat(relu(linear(x, w)), x * g, axis = 1), v); }
