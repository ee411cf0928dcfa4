model window_attn {
  type E = f16;
  input q : E[512,4,49,32];
  input k : E[512,4,49,32];
  input v : E[512,4,49,32];
  param bias : E[4,49,49];
  s[b,h,i,j] : f32 = sum(d) q[b,h,i,d]*k[b,h,j,d]*0.1768 + bias[h,i,j];
  p : E = softmax(s);
  output o[b,h,i,d] = sum(j) p[b,h,i,j]*v[b,h,j,d];
}
