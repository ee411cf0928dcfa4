// Apart from phase.dcl: gradients of what is infinite are no differences.
// what is infinite or NaN has no part in taps that its phase has not
model ph_not_finite { type E = f16; input z : E[2, 32, 9, 12]; param w : E[32, 48, 3, 3];
  x[n, c, p, q] : E = c == 5 && p == 4 && q % 5 == 2 ? inf : c == 7 && p == 7 && q == 3 ? log(-1.0 - z[n, c, p, q] * z[n, c, p, q]) : z[n, c, p, q];
  y : f32 = conv_transpose2d(x, w, stride = 2, pad = 1);
  output o = min(max(y, -1e6), 1e6); }
model ph_not_finite_f32 { input z : f32[1, 12, 9, 12]; param w : f32[12, 20, 3, 5];
  x[n, c, p, q] : f32 = c == 5 && p == 4 && q % 5 == 2 ? inf : c == 7 && p == 7 && q == 3 ? log(-1.0 - z[n, c, p, q] * z[n, c, p, q]) : z[n, c, p, q];
  y : f32 = conv_transpose2d(x, w, stride = [2, 3], pad = 1);
  output o = min(max(y, -1e6), 1e6); }
model ph_not_finite_back { type E = f16; input x : E[3, 32, 14, 15]; param w : E[48, 32, 3, 3]; input z : E[3, 48, 7, 8];
  r[n, k, p, q] : f32 = k % 12 == 5 && p == 3 && q == 2 ? inf : k == 30 && q == 4 ? log(-1.0 - z[n, k, p, q] * z[n, k, p, q]) : z[n, k, p, q];
  y = conv2d(x, w, pad = 1, stride = 2);
  loss[] : f32 = sum(n, k, p, q) f32(y[n, k, p, q]) * r[n, k, p, q];
  d = grad(loss, x);
  output o = min(max(d, -1e6), 1e6); }
