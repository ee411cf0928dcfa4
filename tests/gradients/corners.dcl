// Gradients at corners and far out, where a rule may have 0 times infinity:
// `off` has how many are not what they must be.
op wrong(g: f32[N], w: f32[N]; by = 1e-6) -> n: f32 {
  n[] = sum(i) (abs(g[i] - w[i]) <= by ? 0 : 1);
}
model corners {
  input u : f32;
  x[i in 0..7] : f32 = (i == 0 ? -1e30 : i == 1 ? -200 : i == 2 ? -90 : i == 3 ? 0 : i == 4 ? 90
      : i == 5 ? 200 : 1e30) + 0 * u;
  step[i in 0..7] : f32 = i == 3 ? 0.5 : i > 3;
  none : f32[7] = 0;
  half[i in 0..7] : f32 = i == 3 ? 0.25 : 0;
  one : f32[7] = 1;
  third : f32[7] = 0.3;
  a = sum(sigmoid(x), axis = 0);
  b = sum(silu(x), axis = 0);
  c = sum(softplus(x), axis = 0);
  d = bce(x, third) * 7;
  e[] = sum(i) 3 / (2 + exp2(x[i]));      // slope at 0: -ln 2 / 3
  f[] = sum(i) (i == 3 ? pow(x[i], i - 3.0) : 0);
  below[i] = step[i] - 0.3;
  third_down[i in 0..7] : f32 = i == 3 ? -0.23104906 : 0;
  output off = wrong(grad(a, x), half) + wrong(grad(b, x), step) + wrong(grad(c, x), step)
      + wrong(grad(d, x), below) + wrong(grad(e, x), third_down) + wrong(grad(f, x), none);
  // The slope of slopes: sigmoid's is 0 at 0.
  p = sum(grad(a, x), axis = 0);
  output more = wrong(grad(p, x), none);
}
