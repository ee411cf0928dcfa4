model gat_edges {
  type E = f16;
  input a : E[4096,64];
  input i : i32[65536] in 0..4096;
  input j : i32[65536] in 0..4096;
  output y[e] : f32 = sum(d) f32(a[i[e],d])*a[j[e],d];
}
