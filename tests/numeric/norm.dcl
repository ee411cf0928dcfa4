// Softmax, norms, attention.
model nm_softmax { input x : f32[5, 37]; output y = softmax(x); }
model nm_softmax_f16 { input x : f16[5, 130]; output y = softmax(x); }
model nm_softmax_axis0 { input x : f32[19, 6]; output y = softmax(x, axis = 0); }
model nm_softmax_middle { input x : f32[3, 11, 4]; output y = softmax(x, axis = 1); }
model nm_softmax_one { input x : f32[4, 1]; output y = softmax(x); }
model nm_softmax_masked { input x : f32[9, 9]; m[i, j] : f32 = j <= i ? x[i, j] : -inf; output y = softmax(m); }
model nm_log_softmax { input x : f32[5, 23]; output y = log_softmax(x); }
model nm_layer { input x : f32[7, 50]; param g : f32[50]; param b : f32[50]; output y = layer_norm(x, g, b); }
model nm_layer_f16 { input x : f16[2, 3, 96]; param g : f16[96]; param b : f16[96]; output y = layer_norm(x, g, b); }
model nm_layer_bf16 { input x : bf16[5, 72]; param g : bf16[72]; param b : bf16[72]; output y = layer_norm(x, g, b); }
model nm_layer_plain { input x : f32[7, 13]; output y = layer_norm(x); }
model nm_layer_residual {
  input x : f16[6, 64];
  input r : f16[6, 64];
  param g : f16[64];
  param b : f16[64];
  h = x + r;
  output y = layer_norm(h, g, b);
  output z = h;
}
model nm_rms { input x : f16[6, 80]; param g : f16[80]; output y = rms_norm(x, g); }
model nm_batch { input x : f32[2, 5, 4, 3]; param g : f32[5]; param b : f32[5]; param m : f32[5]; param v : f32[5]; output y = batch_norm(x, g, b, m, v); }
model nm_group { input x : f32[2, 6, 5, 4]; param g : f32[6]; param b : f32[6]; output y = group_norm(x, g, b, groups = 3); }
model nm_instance { input x : f32[2, 3, 7, 5]; output y = instance_norm(x); }
model nm_norm_matmul {
  input x : f16[9, 48];
  param g : f16[48];
  param b : f16[48];
  param w : f16[32, 48];
  output y = linear(layer_norm(x, g, b), w);
}
model nm_attention { input q : f32[2, 9, 8]; input k : f32[2, 11, 8]; input v : f32[2, 11, 8]; output y = attention(q, k, v); }
model nm_attention_f16 { input q : f16[2, 17, 16]; input k : f16[2, 17, 16]; input v : f16[2, 17, 16]; output y = attention(q, k, v, causal = true); }
model nm_attention_mask { input q : f32[1, 2, 6, 8]; input k : f32[1, 2, 7, 8]; input v : f32[1, 2, 7, 5]; input m : f32[6, 7]; output y = attention(q, k, v, m, scale = 0.3); }
model nm_self_attention {
  input x : f16[10, 32];
  param wq : f16[32, 32];
  param wk : f16[32, 32];
  param wv : f16[32, 32];
  param wo : f16[32, 32];
  q = transpose(reshape(linear(x, wq), shape = [10, 4, 8]), perm = [1, 0, 2]);
  k = transpose(reshape(linear(x, wk), shape = [10, 4, 8]), perm = [1, 0, 2]);
  v = transpose(reshape(linear(x, wv), shape = [10, 4, 8]), perm = [1, 0, 2]);
  o = attention(q, k, v);
  output y = x + linear(reshape(transpose(o, perm = [1, 0, 2]), shape = [10, 32]), wo);
}
model nm_cross_entropy {
  input z : f32[5, 17];
  input t : i32[5] in 0..17;
  m[b] = max(v) z[b, v];
  l[b] = log(sum(v) exp(z[b, v] - m[b])) + m[b] - z[b, t[b]];
  output loss = mean(l);
}
