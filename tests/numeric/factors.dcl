// Factors that are computed and exact in 16 bits: tensors of their own, at load
// time or in the run, or computed where they are multiplied.
model fa_i8 { input x : f16[70, 88]; param q : i8[66, 88]; param s : f16[66]; output y[i, j] : f16 = (sum(k) x[i, k] * q[j, k]) * s[j]; }
model fa_i8_across { input x : f16[70, 88]; input q : i8[88, 72]; output y[i, j] : f16 = sum(k) x[i, k] * q[k, j]; }
model fa_i8_bf16 { input x : bf16[70, 88]; input q : i8[66, 88]; output y[i, j] : bf16 = sum(k) x[i, k] * q[j, k]; }
model fa_u8 { input x : u8[70, 88]; param w : bf16[66, 88]; output y[i, j] : f32 = sum(k) x[i, k] * w[j, k]; }
model fa_bool { input m : bool[3, 70, 90]; input x : f16[3, 90, 64]; output y[b, i, d] : f16 = sum(j) m[b, i, j] * x[b, j, d]; }
model fa_both { input x : i8[70, 88]; input q : u8[66, 88]; output y[i, j] : f32 = sum(k) f32(x[i, k]) * f32(q[j, k]); }
model fa_few { input x : f16[3, 88]; param q : i8[66, 88]; output y[i, j] : f16 = sum(k) x[i, k] * q[j, k]; }
model fa_triangle { input a : f16[80, 80]; input x : f16[80, 72]; output y[i, k] = sum(j) (j <= i ? a[i, j] : 0) * x[j, k]; }
model fa_mask { input a : f16[80, 80]; input m : i32[80]; input x : f16[80, 72]; output y[i, k] = sum(j) (m[j] > 0 ? a[i, j] : 0) * x[j, k]; }
model fa_one_hot { input ids : i32[72] in 0..90; param w : f16[90, 64]; output y[n, d] = sum(v in 0..90) (ids[n] == v ? 1.0 : 0.0) * w[v, d]; }
model fa_relu { input x : f16[70, 88]; param w : f16[66, 88]; output y[i, j] = sum(k) relu(x[i, k]) * min(w[j, k], 1); }
model fa_twice { input x : f16[2, 64, 70]; output y[n, i, j] : f32 = sum(k) abs(x[n, i, k]) * abs(x[n, j, k]); }
