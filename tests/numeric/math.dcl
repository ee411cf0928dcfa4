// Every scalar function, two dozen to a model.
model fn_roots {
  input x : f32[37];
  output y_sqrt[i] = sqrt(abs(x[i]) + 0.1);
  output y_rsqrt[i] = rsqrt(abs(x[i]) + 0.1);
  output y_cbrt[i] = cbrt(x[i]);
  output y_exp[i] = exp(x[i]);
  output y_exp2[i] = exp2(x[i]);
  output y_expm1[i] = expm1(x[i]);
  output y_log[i] = log(abs(x[i]) + 0.1);
  output y_log2[i] = log2(abs(x[i]) + 0.1);
  output y_log10[i] = log10(abs(x[i]) + 0.1);
  output y_log1p[i] = log1p(abs(x[i]));
}
model fn_circle {
  input x : f32[37];
  output y_sin[i] = sin(x[i] * 3);
  output y_cos[i] = cos(x[i] * 3);
  output y_tan[i] = tan(x[i] / 2);
  output y_asin[i] = asin(x[i] / 2);
  output y_acos[i] = acos(x[i] / 2);
  output y_atan[i] = atan(x[i]);
  output y_sinh[i] = sinh(x[i]);
  output y_cosh[i] = cosh(x[i]);
  output y_tanh[i] = tanh(x[i]);
  output y_asinh[i] = asinh(x[i]);
  output y_acosh[i] = acosh(abs(x[i]) + 1);
  output y_atanh[i] = atanh(x[i] / 2);
}
model fn_special {
  input x : f32[37];
  output y_erf[i] = erf(x[i]);
  output y_erfc[i] = erfc(x[i]);
  output y_tgamma[i] = tgamma(abs(x[i]) + 0.5);
  output y_lgamma[i] = lgamma(abs(x[i]) + 0.5);
  output y_floor[i] = floor(x[i] * 3);
  output y_ceil[i] = ceil(x[i] * 3);
  output y_trunc[i] = trunc(x[i] * 3);
  output y_round[i] = round(x[i] * 3);
  output y_rint[i] = rint(x[i] * 3);
  output y_abs[i] = abs(x[i]);
}
model fn_two {
  input x : f32[37];
  input z : f32[37];
  output y_pow[i] = pow(abs(x[i]) + 0.1, z[i]);
  output y_atan2[i] = atan2(x[i], z[i]);
  output y_fmod[i] = fmod(x[i] * 3, z[i]);
  output y_hypot[i] = hypot(x[i], z[i]);
  output y_copysign[i] = copysign(x[i], z[i]);
  output y_fdim[i] = fdim(x[i], z[i]);
  output y_min[i] = min(x[i], z[i]);
  output y_max[i] = max(x[i], z[i]);
}
model fn_fma {
  input x : f32[37];
  input z : f32[37];
  output y[i] = fma(x[i], z[i], 0.5);
}
model fn_activations {
  input x : f32[5, 13];
  output a = relu6(x * 5);
  output b = clip(x, low = -0.5, high = 0.25);
  output c = leaky_relu(x);
  output d = elu(x);
  output e = sigmoid(x);
  output f = silu(x);
  output g = hard_sigmoid(x);
  output h = hard_swish(x);
  output i = softplus(x);
  output j = gelu(x);
  output k = gelu(x, approximate = "tanh");
}
model fn_activations_f16 {
  input x : f16[5, 16];
  output a = silu(x);
  output b = gelu(x);
  output c = elu(x);
  output d = hard_swish(x);
}
// Sums with 1, which are taken as other functions.
model fn_sums {
  input x : f32[7, 33];
  u = 5 * x;
  output a = gelu(u);
  output b = gelu(u, approximate = "tanh");
  output c[i, j] = 1 - erf(u[i, j]);
  output d[i, j] = 3 * (erf(u[i, j] / 2) + 1) / 7;
  output e[i, j] = u[i, j] / (exp(-3 * u[i, j]) + 1);
  output f[i, j] = (1 - tanh(u[i, j])) * x[i, j];
  output g = silu(u);
}
// Slopes of functions that are logistic ones, at 0 and far out.
model fn_slopes {
  input x : f32[7, 33];
  u[i, j] = i == 0 ? 0 : i == 1 ? 300 * x[i, j] : 6 * x[i, j];
  z = gelu(u, approximate = "tanh");
  s = silu(u);
  loss[] : f32 = sum(i, j) z[i, j] + sum(i, j) s[i, j] * j;
  output a = grad(loss, u);
  squares[] : f32 = sum(i, j) tanh(u[i, j]) * j;
  output b = grad(squares, u);
}
model fn_slopes_f16 {
  input x : f16[7, 33];
  u = 6 * x;
  z = gelu(u, approximate = "tanh");
  loss[] : f32 = sum(i, j) z[i, j] * j;
  output a = grad(loss, u);
}
model fn_select {
  input x : f32[29];
  output y[i] = x[i] > 0 ? log(x[i]) : x[i] < -1 ? -x[i] : 0;
}
