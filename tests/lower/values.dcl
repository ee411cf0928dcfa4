// types, scalars inside definitions, views, gathers, reductions
op f(x: T; k = 3) -> y: T { a = x * k; b = sigmoid(a) + x; y = b * b; }
op g(x: T) -> y: T { t[i in 0..4] = x * i; u = t * 2; y[] = sum(i) u[i]; }
op h(x: T[..], s: f32) -> y { y[..] = x[..] * s; }
op cat(x: T[N], y: T[M]) -> z { a = concat(x, y, x, axis = -1); z = reshape(a, shape = [1, -1]); }
op tr(x: T[A, B]) -> z { z = transpose(x, perm = [1, 0]); }
model values {
  dim B = 8;
  input x : f16[B, 5];
  input k : i32[B];
  input q : i8[B];
  input pos : i32;
  param w : f16[5];
  a[i, j] = f(x[i, j]) + g(w[j]);
  b = h(x * w, 0.5);
  c[i] = sum(j) f(x[i, j]) * w[j];
  d[i] = k[i] / 3 + q[i] % 4 - i;
  e[i] = f32(k[i]) / 3;
  ff[i] = x[pos, 0] + x[k[i] + 1, 1] + (x[k[i], 2] or 7);
  z = cat(w, w);
  zt = tr(x);
  m1[i] = mean(j) (x[i, j] > 0);
  m2[] = max(j) q[j];
  m3[i] = argmax(j in 2..5) x[i, j];
  m4[i] = abs(q[i]) + min(q[i], 3);
  m5[i] = x[i, 0] > 0.5 && !(k[i] == 2) ? 1 : 0.25;
  m6[i] = sqrt(i) * x[i, 0] + 2 * i;
  m7[i in 0..7] = x[i + 1, 0] + x[7 - i, 1] + x[i / 2, 2] + x[i % 3 * 2, 3];
  cc[i] = q[i] or 0;
  cf[i] : i32 = x[i, 0];
  ww = exp(w) + bexp(w);
  output a; output b; output c; output d; output e; output ff; output z; output zt;
  output m1; output m2; output m3; output m4; output m5; output m6; output m7; output cc; output cf; output ww; output x2 = x; 
}
op bexp(x: T[..]) -> y { y = exp(x) - 1; }
