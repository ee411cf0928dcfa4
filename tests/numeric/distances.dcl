// Sums over two tensors' elements that are no products: distances, and what
// else is 0 of zeros; ragged, batched, of several indices, with an epilogue.
model di_square { input a : f32[70, 20]; input b : f32[50, 20]; output d[i, j] = sum(k) (a[i, k] - b[j, k]) * (a[i, k] - b[j, k]); }
model di_root { input a : f16[2, 33, 3]; input b : f16[2, 45, 3]; s[n, i, j] : f32 = sum(k) (f32(a[n, i, k]) - b[n, j, k]) * (a[n, i, k] - b[n, j, k]); output d[n, i, j] : f16 = sqrt(s[n, i, j]); }
model di_manhattan { input a : bf16[40, 37]; input b : bf16[61, 37]; output d[i, j] : f32 = sum(k) abs(f32(a[i, k]) - b[j, k]); }
model di_across { input a : f32[19, 70]; input b : f32[19, 66]; output d[i, j] = sum(k) abs(a[k, i] - b[k, j]); }
model di_turned { input a : f32[70, 24]; input b : f32[24, 66]; output d[j, i] = sum(k) min(a[i, k], b[k, j]); }
model di_nearest { input a : f32[70, 32]; input b : f32[40, 32]; d[i, j] = sum(k) (a[i, k] - b[j, k]) * (a[i, k] - b[j, k]); output y[i] = argmin(j) d[i, j]; output least[i] = min(j) d[i, j]; }
model di_kernel { input a : f32[2, 3, 36, 16]; input b : f32[2, 3, 40, 16]; d[n, h, i, j] = sum(k) (a[n, h, i, k] - b[n, h, j, k]) * (a[n, h, i, k] - b[n, h, j, k]); output y[n, h, i, j] = exp(-0.1 * d[n, h, i, j]); }
model di_two { input a : f32[40, 5, 7]; input b : f32[7, 5, 48]; output d[i, j] = sum(p, q) max(a[i, p, q] - b[q, p, j], a[i, p, q] * 0.1); }
model di_mixed { input a : f16[64, 40]; input b : f32[72, 40]; output d[i, j] = sum(k) (a[i, k] - b[j, k]) * (a[i, k] - b[j, k]) / (1 + abs(a[i, k]) + abs(b[j, k])); }
model di_guard { input a : f32[40, 20]; input b : f32[50]; output d[i, p in 0..50] = sum(k in 0..20) abs(a[i, k] - (b[p + k - 9] or 0)); }
model di_ones { input a : f32[40, 20]; input b : f32[50, 20]; output d[i, j] = sum(k) (a[i, k] - b[j, k] + 1) * (a[i, k] - b[j, k]); output e[i, j] = sum(k) exp(-abs(a[i, k] - b[j, k])); }
model di_self { input a : f32[50, 20]; output d[i, j] = sum(k) (a[i, k] - a[j, k]) * (a[i, k] - a[j, k]); }
