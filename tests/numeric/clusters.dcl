// Tiles of several warpgroups whose blocks share rows and columns with others of
// their cluster (flavour crossed): rows that are no whole lines, a last column
// of tiles that a cluster has alone, ragged edges.
model cl_ragged { input x : f16[290, 728]; param w : f16[152, 728]; output y[i, j] = sum(k) x[i, k] * w[j, k]; }
model cl_f32_out { input x : bf16[200, 840]; param w : bf16[328, 840]; param b : bf16[328]; output y : f32[200, 328] = relu(linear(x, w, b)); }
