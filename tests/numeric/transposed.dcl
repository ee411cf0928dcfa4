// Gradients of transposed convolutions' weights: windows of what comes back, without phases.
model ct_even { input x : f32[2, 5, 6, 5]; param w : f32[5, 7, 4, 4]; input u : f32[2, 7, 12, 10]; y = conv_transpose2d(x, w, stride = 2, pad = 1);
  loss[] = sum(n, c, i, j) y[n, c, i, j] * u[n, c, i, j] * y[n, c, i, j]; output dw = grad(loss, w); output dx = grad(loss, x); }
model ct_extra { input x : f32[2, 4, 5, 4]; param w : f32[4, 3, 3, 3]; y = conv_transpose2d(x, w, stride = 2, pad = 1, extra = 1);
  loss[] = sum(n, c, i, j) y[n, c, i, j] * y[n, c, i, j]; output dw = grad(loss, w); output dx = grad(loss, x); }
model ct_bare { input x : f16[3, 8, 9, 7]; param w : f16[8, 16, 2, 2]; y = conv_transpose2d(x, w, stride = 2); loss[] = sum(n, c, i, j) f32(y[n, c, i, j]) * y[n, c, i, j];
  output dw = grad(loss, w); output dx = grad(loss, x); }
model ct_wide { input x : f16[4, 64, 8, 8]; param w : f16[64, 32, 4, 4]; y = conv_transpose2d(x, w, stride = 2, pad = 1); loss[] = sum(n, c, i, j) f32(y[n, c, i, j]) * y[n, c, i, j];
  output dw = grad(loss, w); output dx = grad(loss, x); }
model ct_three { input x : f32[2, 3, 5, 4]; param w : f32[3, 4, 5, 2]; y = conv_transpose2d(x, w, stride = 3, pad = 0); loss[] = sum(n, c, i, j) y[n, c, i, j] * y[n, c, i, j];
  output dw = grad(loss, w); output dx = grad(loss, x); }
model ct_own { input x : f32[9]; param w : f32[5]; param v : f32[5]; y[p in 0..20] = sum(k) ((p - k + 1) % 2 == 0 ? w[k] * (x[(p - k + 1) / 2] or 0) : 0);
  z[p in 0..20] = sum(k) ((k - p) % 2 == 0 ? v[k] * (x[(k - p) / 2 + 4] or 0) : 0); loss[] = sum(p) y[p] * y[p] * z[p]; output dw = grad(loss, w); output dv = grad(loss, v); }
model ct_ones { input x : f32[9]; param w : f32[3]; y[p in 0..20] = sum(k) ((p - k) % 2 == 0 ? w[k] * (x[(p - k) / 2] or 1) : 0); loss[] = sum(p) y[p] * y[p];
  output dw = grad(loss, w); }
model ct_fours { input x : f32[9]; param w : f32[3]; y[p in 0..20] = sum(k) ((p - k) % 4 == 0 ? w[k] * (x[(p - k) / 4] or 0) : 0); loss[] = sum(p) y[p] * y[p];
  output dw = grad(loss, w); }
