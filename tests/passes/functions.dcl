// Sums with 1 whose functions are taken in another way, and others that stay.
model functions {
  input x : f16[8];
  input y : f32[8];
  output normal = gelu(x);
  output half[i] = 0.5 * (erf(y[i]) + 1);
  output other_way[i] = (1 + erf(y[i] / 1.4142135623730951)) * y[i] * 0.5;
  output complement[i] = 1 - erf(0.5 * y[i]);
  output by_tanh = gelu(x, approximate = "tanh");
  output less_tanh[i] = 3 * (1 - tanh(y[i]));
  output smooth = silu(y);
  output logistic[i] = y[i] / (exp(2 * y[i]) + 1);
  output near_two[i] = 2 + erf(y[i]);
  output error[i] = erf(y[i]);
  output plain[i] = 1 / (2 + exp(y[i]));
  output no_sum[i] = 1 - exp(y[i]);
}
// Slopes: of the logistic function one function, and of a product of three one
// term. What would cancel, and a sum of one value twice, stay.
model fn_slopes {
  input x : f32[8];
  u = gelu(x, approximate = "tanh");
  v = silu(x);
  loss[] : f32 = sum(i) u[i] + sum(i) v[i];
  output g = grad(loss, x);
  output h[i] = x[i] * (0.5 * x[i]) + x[i] * x[i] * 0.25 + exp(x[i]);
  output o[i] = x[i] * (0.5 * x[i]) + x[i] * x[i] * -0.25;
  output t[i] = x[i] * 0.5 + x[i] * 0.25;
}
