model mlp_mixer_tok {
  type E = f16;
  input x : E[32,196,512];
  param w1 : E[384,196];
  param w2 : E[196,384];
  h[b,i,c] = gelu(sum(j) w1[i,j]*x[b,j,c]);
  output y[b,i,c] = x[b,i,c] + sum(j) w2[i,j]*h[b,j,c];
}
