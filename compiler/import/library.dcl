// Operators of ONNX that the library does not have. An imported model carries the ones that it
// uses, word for word.

// alpha (e^(x / alpha) - 1) below 0
op celu(x: T[..]; alpha = 1.0) -> y: T[..] {
  y[..] = max(x[..], 0) + min(alpha * expm1(x[..] / alpha), 0);
}

// gamma times (x, or alpha (e^x - 1) below 0)
op selu(x: T[..]; alpha = 1.6732632423543772, gamma = 1.0507009873554805) -> y: T[..] {
  y[..] = gamma * (x[..] > 0 ? x[..] : alpha * expm1(x[..]));
}

// slope x + middle, between 0 and 1
op straight_sigmoid(x: T[..]; slope = 0.2, middle = 0.5) -> y: T[..] {
  y[..] = max(min(slope * x[..] + middle, 1), 0);
}

// x above the threshold, else 0
op thresholded_relu(x: T[..]; threshold = 1.0) -> y: T[..] {
  y[..] = x[..] > threshold ? x[..] : 0;
}

// x drawn towards 0 by `bias`, 0 within the threshold
op shrink(x: T[..]; threshold = 0.5, bias = 0.0) -> y: T[..] {
  y[..] = x[..] < -threshold ? x[..] + bias : x[..] > threshold ? x[..] - bias : 0;
}

// x where it is positive, else slope x
op prelu(x: T[..], slope: T[..]) -> y: T[..] {
  y[..] = x[..] > 0 ? x[..] : slope[..] * x[..];
}

// x sigmoid(slope x)
op swish(x: T[..]; slope = 1.0) -> y: T[..] { y[..] = x[..] / (1 + exp(-(slope * x[..]))); }

// x sigmoid(1.702 x), an approximation of gelu
op quick_gelu(x: T[..]; slope = 1.702) -> y: T[..] { y[..] = x[..] / (1 + exp(-(slope * x[..]))); }

// x tanh(softplus(x))
op mish(x: T[..]) -> y: T[..] { y[..] = x[..] * tanh(softplus(x[..])); }

// x / (1 + |x|)
op softsign(x: T[..]) -> y: T[..] { y[..] = x[..] / (1 + abs(x[..])); }

// -1, 0 or 1
op sign(x: T[..]) -> y: T[..] { y[..] = x[..] > 0 ? 1 : x[..] < 0 ? -1 : 0; }

// a / b of integers, what follows the point cut off
op truncated_quotient(a: T[..], b: T[..]) -> y: T[..] {
  y[..] = (a[..] < 0) == (b[..] < 0) ? abs(a[..]) / abs(b[..]) : -(abs(a[..]) / abs(b[..]));
}

// The remainder of a / b, of b's sign, as 0 is too
op floored_remainder(a: T[..], b: T[..]) -> y: T[..] {
  y[..] = fmod(a[..], b[..]) == 0 ? copysign(0.0, b[..])
      : (fmod(a[..], b[..]) < 0) != (b[..] < 0) ? fmod(a[..], b[..]) + b[..]
      : fmod(a[..], b[..]);
}

// The last two dimensions exchanged.
op transposed(x: T[.., M, N]) -> y: T[.., N, M] { y[.., i, j] = x[.., j, i]; }

// x on and above diagonal k, 0 below
op upper_triangle(x: T[.., M, N]; k = 0) -> y: T[.., M, N] {
  y[.., i, j] = j - i >= k ? x[.., i, j] : 0;
}

// x on and below diagonal k, 0 above
op lower_triangle(x: T[.., M, N]; k = 0) -> y: T[.., M, N] {
  y[.., i, j] = j - i <= k ? x[.., i, j] : 0;
}

// The sum up to each place along `axis`, with or without that place, from either end.
op cumulative_sum(x: T[A.., D @ axis, B..]; axis, exclusive = false, reverse = false)
    -> y: T[A.., D, B..] {
  dim own = exclusive ? 0 : 1;  // the element's own place counts
  if (reverse) {
    y[A.., i, B..] = sum(d in i + 1 - own..D) x[A.., d, B..];
  } else {
    y[A.., i, B..] = sum(d in 0..i + own) x[A.., d, B..];
  }
}

// 1 where the largest along `axis` is (the first of equals), else 0
op hardmax(x: T[A.., D @ axis, B..]; axis = -1) -> y: T[A.., D, B..] {
  m[A.., B..] = argmax(d) x[A.., d, B..];
  y[A.., d, B..] = m[A.., B..] == d ? 1 : 0;
}

// x over the sum of absolute values along `axis`
op l1_norm(x: T[A.., D @ axis, B..]; axis = -1) -> y: T[A.., D, B..] {
  s[A.., B..] : f32 = sum(d) abs(x[A.., d, B..]);
  y[A.., d, B..] = s[A.., B..] == 0 ? 0 : x[A.., d, B..] / s[A.., B..];
}

// x over the root of the sum of squares along `axis`
op l2_norm(x: T[A.., D @ axis, B..]; axis = -1) -> y: T[A.., D, B..] {
  s[A.., B..] : f32 = sum(d) f32(x[A.., d, B..]) * x[A.., d, B..];
  y[A.., d, B..] = s[A.., B..] == 0 ? 0 : x[A.., d, B..] * rsqrt(s[A.., B..]);
}

// x / (bias + alpha / size sum(x^2 of `size` channels around))^beta
op local_response_norm(x: T[N, C, ..]; size, alpha = 1e-4, beta = 0.75, bias = 1.0)
    -> y: T[N, C, ..] {
  s[n, c in 0..C, ..] : f32 = sum(k in 0..size)
      (x[n, c + k - (size - 1) / 2, ..] or 0) * (x[n, c + k - (size - 1) / 2, ..] or 0);
  y[n, c, ..] = x[n, c, ..] / pow(bias + alpha / size * s[n, c, ..], beta);
}

// group_norm with one gain and bias a group
op group_norm_of_groups(x: T[N, C, ..], g: T[G], b: T[G]; groups, eps = 1e-5) -> y: T[N, C, ..] {
  dim A = C / groups;
  m[n, i in 0..groups] : f32 = mean(c in 0..A, ..) x[n, i * A + c, ..];
  v[n, i in 0..groups] : f32 =
      mean(c in 0..A, ..) (x[n, i * A + c, ..] - m[n, i]) * (x[n, i * A + c, ..] - m[n, i]);
  y[n, c, ..] = (x[n, c, ..] - m[n, c / A]) * rsqrt(v[n, c / A] + eps) * g[c / A] + b[c / A];
}

// conv1d with `before` and `after` zeros around x
op conv1d_padded(x: T[N, C, L], w: T[K, C / groups, R], b: T[K] = 0;
    stride = 1, before = 0, after = 0, dilation = 1, groups = 1)
    -> y: T[N, K, (L + before + after - dilation * (R - 1) - 1) / stride + 1] {
  dim A = C / groups;
  y[n, k, p] =
      sum(c, r) (x[n, k / (K / groups) * A + c, p * stride + r * dilation - before] or 0)
      * w[k, c, r] + b[k];
}

// conv2d with `before` and `after` zeros around x
op conv2d_padded(x: T[N, C, H, W], w: T[K, C / groups, R, S], b: T[K] = 0;
    stride[2] = 1, before[2] = 0, after[2] = 0, dilation[2] = 1, groups = 1)
    -> y: T[N, K, (H + before[0] + after[0] - dilation[0] * (R - 1) - 1) / stride[0] + 1,
        (W + before[1] + after[1] - dilation[1] * (S - 1) - 1) / stride[1] + 1] {
  dim A = C / groups;
  y[n, k, p, q] = sum(c, r, s)
      (x[n, k / (K / groups) * A + c, p * stride[0] + r * dilation[0] - before[0],
              q * stride[1] + s * dilation[1] - before[1]] or 0) * w[k, c, r, s] + b[k];
}

// conv3d with `before` and `after` zeros around x
op conv3d_padded(x: T[N, C, D, H, W], w: T[K, C / groups, Q, R, S], b: T[K] = 0;
    stride[3] = 1, before[3] = 0, after[3] = 0, dilation[3] = 1, groups = 1)
    -> y: T[N, K, (D + before[0] + after[0] - dilation[0] * (Q - 1) - 1) / stride[0] + 1,
        (H + before[1] + after[1] - dilation[1] * (R - 1) - 1) / stride[1] + 1,
        (W + before[2] + after[2] - dilation[2] * (S - 1) - 1) / stride[2] + 1] {
  dim A = C / groups;
  y[n, k, f, g, h] = sum(c, q, r, s)
      (x[n, k / (K / groups) * A + c, f * stride[0] + q * dilation[0] - before[0],
              g * stride[1] + r * dilation[1] - before[1],
              h * stride[2] + s * dilation[2] - before[2]] or 0) * w[k, c, q, r, s] + b[k];
}

// The transpose of conv1d: `size` outputs, the first `before` ones cut off.
op conv_transpose1d_cut(x: T[N, C, L], w: T[C, A, R], b: T[A * groups] = 0;
    size, stride = 1, before = 0, dilation = 1, groups = 1) -> y: T[N, A * groups, size] {
  dim I = C / groups;
  y[n, k, p] = sum(c in 0..I, r)
      ((p + before - r * dilation) % stride == 0
          ? x[n, k / A * I + c, (p + before - r * dilation) / stride] or 0 : 0)
      * w[k / A * I + c, k % A, r] + b[k];
}

// The transpose of conv2d: `size` outputs, the first `before` ones cut off.
op conv_transpose2d_cut(x: T[N, C, H, W], w: T[C, A, R, S], b: T[A * groups] = 0;
    size[2], stride[2] = 1, before[2] = 0, dilation[2] = 1, groups = 1)
    -> y: T[N, A * groups, size[0], size[1]] {
  dim I = C / groups;
  y[n, k, p, q] = sum(c in 0..I, r, s)
      ((p + before[0] - r * dilation[0]) % stride[0] == 0
          && (q + before[1] - s * dilation[1]) % stride[1] == 0
          ? x[n, k / A * I + c, (p + before[0] - r * dilation[0]) / stride[0],
              (q + before[1] - s * dilation[1]) / stride[1]] or 0 : 0)
      * w[k / A * I + c, k % A, r, s] + b[k];
}

// The transpose of conv3d: `size` outputs, the first `before` ones cut off.
op conv_transpose3d_cut(x: T[N, C, D, H, W], w: T[C, A, Q, R, S], b: T[A * groups] = 0;
    size[3], stride[3] = 1, before[3] = 0, dilation[3] = 1, groups = 1)
    -> y: T[N, A * groups, size[0], size[1], size[2]] {
  dim I = C / groups;
  y[n, k, o, p, q] = sum(c in 0..I, f, r, s)
      ((o + before[0] - f * dilation[0]) % stride[0] == 0
          && (p + before[1] - r * dilation[1]) % stride[1] == 0
          && (q + before[2] - s * dilation[2]) % stride[2] == 0
          ? x[n, k / A * I + c, (o + before[0] - f * dilation[0]) / stride[0],
              (p + before[1] - r * dilation[1]) / stride[1],
              (q + before[2] - s * dilation[2]) / stride[2]] or 0 : 0)
      * w[k / A * I + c, k % A, f, r, s] + b[k];
}

// x [N, C, H, W] at the places that grid [N, P, Q, 2] gives, each from -1 to 1 (x first); between
// pixels the nearest or a mean of four, outside of x zeros, its border or its reflection.
op grid_sample(x: T[N, C, H, W], grid: U[N, P, Q, 2];
    mode = "linear", outside = "zeros", align_corners = false) -> y: T[N, C, P, Q] {
  if (align_corners) {
    u[n, p, q] : f32 = (f32(grid[n, p, q, 0]) + 1) / 2 * (W - 1);
    v[n, p, q] : f32 = (f32(grid[n, p, q, 1]) + 1) / 2 * (H - 1);
  } else {
    u[n, p, q] : f32 = ((f32(grid[n, p, q, 0]) + 1) * W - 1) / 2;
    v[n, p, q] : f32 = ((f32(grid[n, p, q, 1]) + 1) * H - 1) / 2;
  }
  if (outside == "border") {
    u[n, p, q] : f32 = max(min(u[n, p, q], W - 1), 0);
    v[n, p, q] : f32 = max(min(v[n, p, q], H - 1), 0);
  } else if (outside == "reflection" && align_corners) {
    u[n, p, q] : f32 = W - 1 - abs(W - 1 - (abs(u[n, p, q])
        - floor(abs(u[n, p, q]) / max(2 * (W - 1), 1)) * (2 * (W - 1))));
    v[n, p, q] : f32 = H - 1 - abs(H - 1 - (abs(v[n, p, q])
        - floor(abs(v[n, p, q]) / max(2 * (H - 1), 1)) * (2 * (H - 1))));
  } else if (outside == "reflection") {
    u[n, p, q] : f32 = abs(u[n, p, q] + 0.5) - floor(abs(u[n, p, q] + 0.5) / (2 * W)) * (2 * W);
    v[n, p, q] : f32 = abs(v[n, p, q] + 0.5) - floor(abs(v[n, p, q] + 0.5) / (2 * H)) * (2 * H);
    u[n, p, q] : f32 = max(min(min(u[n, p, q], 2 * W - u[n, p, q]) - 0.5, W - 1), 0);
    v[n, p, q] : f32 = max(min(min(v[n, p, q], 2 * H - v[n, p, q]) - 0.5, H - 1), 0);
  } else {
    require outside == "zeros";
  }
  if (mode == "nearest") {
    i[n, p, q] = i32(rint(u[n, p, q]));
    j[n, p, q] = i32(rint(v[n, p, q]));
    y[n, c, p, q] = x[n, c, j[n, p, q], i[n, p, q]] or 0;
  } else {
    require mode == "linear";
    i[n, p, q] = i32(floor(u[n, p, q]));
    j[n, p, q] = i32(floor(v[n, p, q]));
    a[n, p, q] : f32 = u[n, p, q] - i[n, p, q];
    b[n, p, q] : f32 = v[n, p, q] - j[n, p, q];
    y[n, c, p, q] =
        (1 - b[n, p, q]) * ((1 - a[n, p, q]) * (x[n, c, j[n, p, q], i[n, p, q]] or 0)
            + a[n, p, q] * (x[n, c, j[n, p, q], i[n, p, q] + 1] or 0))
        + b[n, p, q] * ((1 - a[n, p, q]) * (x[n, c, j[n, p, q] + 1, i[n, p, q]] or 0)
            + a[n, p, q] * (x[n, c, j[n, p, q] + 1, i[n, p, q] + 1] or 0));
  }
}

// Keys' cubic convolution with a = -0.75: the weight of a pixel at distance d
op cubic_weight(d: f32[..]) -> w: f32[..] {
  w[..] = abs(d[..]) <= 1 ? (1.25 * abs(d[..]) - 2.25) * abs(d[..]) * abs(d[..]) + 1
      : abs(d[..]) < 2 ? ((3.75 - 0.75 * abs(d[..])) * abs(d[..]) - 6) * abs(d[..]) + 3 : 0;
}

// Pixel `i` of `size`: itself, or what lies outside as `outside` says: -1 for zeros.
op pixel_or_outside(i: i32[..]; size, outside, align_corners) -> y: i32[..] {
  if (outside == "border") {
    y[..] = max(min(i[..], size - 1), 0);
  } else if (outside == "reflection" && align_corners) {
    y[..] = size == 1 ? 0
        : min(i[..] % max(2 * size - 2, 1), (2 * size - 2 - i[..]) % max(2 * size - 2, 1));
  } else if (outside == "reflection") {
    y[..] = min(i[..] % (2 * size), (2 * size - 1 - i[..]) % (2 * size));
  } else {
    y[..] = i[..] < 0 || i[..] >= size ? -1 : i[..];
  }
}

// grid_sample between 16 pixels by cubic convolution
op grid_sample_cubic(x: T[N, C, H, W], grid: U[N, P, Q, 2];
    outside = "zeros", align_corners = false) -> y: T[N, C, P, Q] {
  if (align_corners) {
    u[n, p, q] : f32 = (f32(grid[n, p, q, 0]) + 1) / 2 * (W - 1);
    v[n, p, q] : f32 = (f32(grid[n, p, q, 1]) + 1) / 2 * (H - 1);
  } else {
    u[n, p, q] : f32 = ((f32(grid[n, p, q, 0]) + 1) * W - 1) / 2;
    v[n, p, q] : f32 = ((f32(grid[n, p, q, 1]) + 1) * H - 1) / 2;
  }
  i0[n, p, q, s in 0..4] = i32(floor(u[n, p, q])) + s - 1;
  j0[n, p, q, r in 0..4] = i32(floor(v[n, p, q])) + r - 1;
  i = pixel_or_outside(i0, size = W, outside = outside, align_corners = align_corners);
  j = pixel_or_outside(j0, size = H, outside = outside, align_corners = align_corners);
  a[n, p, q, s in 0..4] : f32 = u[n, p, q] - i0[n, p, q, s];
  b[n, p, q, r in 0..4] : f32 = v[n, p, q] - j0[n, p, q, r];
  wa = cubic_weight(a);
  wb = cubic_weight(b);
  y[n, c, p, q] = sum(r in 0..4, s in 0..4) (x[n, c, j[n, p, q, r], i[n, p, q, s]] or 0)
      * wb[n, p, q, r] * wa[n, p, q, s];
}

// grid_sample of [N, C, D, H, W] with zeros outside: the nearest pixel, or a mean of eight
op grid_sample3d(x: T[N, C, D, H, W], grid: U[N, O, P, Q, 3];
    mode = "linear", align_corners = false) -> y: T[N, C, O, P, Q] {
  if (align_corners) {
    u[n, o, p, q] : f32 = (f32(grid[n, o, p, q, 0]) + 1) / 2 * (W - 1);
    v[n, o, p, q] : f32 = (f32(grid[n, o, p, q, 1]) + 1) / 2 * (H - 1);
    t[n, o, p, q] : f32 = (f32(grid[n, o, p, q, 2]) + 1) / 2 * (D - 1);
  } else {
    u[n, o, p, q] : f32 = ((f32(grid[n, o, p, q, 0]) + 1) * W - 1) / 2;
    v[n, o, p, q] : f32 = ((f32(grid[n, o, p, q, 1]) + 1) * H - 1) / 2;
    t[n, o, p, q] : f32 = ((f32(grid[n, o, p, q, 2]) + 1) * D - 1) / 2;
  }
  if (mode == "nearest") {
    i[n, o, p, q] = i32(rint(u[n, o, p, q]));
    j[n, o, p, q] = i32(rint(v[n, o, p, q]));
    k[n, o, p, q] = i32(rint(t[n, o, p, q]));
    y[n, c, o, p, q] = x[n, c, k[n, o, p, q], j[n, o, p, q], i[n, o, p, q]] or 0;
  } else {
    i[n, o, p, q] = i32(floor(u[n, o, p, q]));
    j[n, o, p, q] = i32(floor(v[n, o, p, q]));
    k[n, o, p, q] = i32(floor(t[n, o, p, q]));
    wu[n, o, p, q, s in 0..2] : f32 = max(1 - abs(u[n, o, p, q] - (i[n, o, p, q] + s)), 0);
    wv[n, o, p, q, s in 0..2] : f32 = max(1 - abs(v[n, o, p, q] - (j[n, o, p, q] + s)), 0);
    wt[n, o, p, q, s in 0..2] : f32 = max(1 - abs(t[n, o, p, q] - (k[n, o, p, q] + s)), 0);
    y[n, c, o, p, q] = sum(e in 0..2, r in 0..2, s in 0..2)
        (x[n, c, k[n, o, p, q] + e, j[n, o, p, q] + r, i[n, o, p, q] + s] or 0)
        * wt[n, o, p, q, e] * wv[n, o, p, q, r] * wu[n, o, p, q, s];
  }
}

// x W^T + b of an LSTM's, a GRU's or an RNN's input for all steps: x [T, B, I], w [D, G, I] of
// direction `dir`, b [D, 2 G] whose second half belongs to the state.
op recurrent_input(x: T[S, B, I], w: T[D, G, I], b: T[D, F] = 0; dir = 0, both = true)
    -> z: T[S, B, G] {
  z[s, n, g in 0..G] = sum(i) x[s, n, i] * w[dir, g, i]
      + b[dir, g] + (both ? b[dir, G + g] : 0);
}

// One step of an LSTM: the gates before their functions, of inputs z [B, 4 H] in the order i, o,
// f, c and the state h [B, H] by r [D, 4 H, H].
op lstm_gates(z: T[S, B, G], h: T[B, H], r: T[D, G, H]; step, dir = 0) -> a: T[B, G] {
  a[n, g] = z[step, n, g] + sum(i) h[n, i] * r[dir, g, i];
}

// The new cell of an LSTM; p [D, 3 H] are its peepholes.
op lstm_cell(a: T[B, G], c: T[B, H], p: T[D, P] = 0; dir = 0) -> y: T[B, H] {
  y[n, j in 0..H] = sigmoid(a[n, 2 * H + j] + p[dir, 2 * H + j] * c[n, j]) * c[n, j]
      + sigmoid(a[n, j] + p[dir, j] * c[n, j]) * tanh(a[n, 3 * H + j]);
}

// The new state of an LSTM, of its gates and its new cell.
op lstm_state(a: T[B, G], c: T[B, H], p: T[D, P] = 0; dir = 0) -> y: T[B, H] {
  y[n, j] = sigmoid(a[n, H + j] + p[dir, H + j] * c[n, j]) * tanh(c[n, j]);
}

// One step of a GRU, gates in the order z, r, h: `a` of the input with its bias, `h` the state, `b`
// [D, 6 H] the biases; linear: the reset gate applies after the product.
op gru_gates(a: T[S, B, G], h: T[B, H], r: T[D, G, H], b: T[D, F] = 0; step, dir = 0)
    -> y: T[B, 2 * H] {
  y[n, g in 0..2 * H] = sigmoid(a[step, n, g] + b[dir, G + g] + sum(i) h[n, i] * r[dir, g, i]);
}

// The new state of a GRU, of its gates.
op gru_state(a: T[S, B, G], gate: T[B, E], h: T[B, H], r: T[D, G, H], b: T[D, F] = 0;
    step, dir = 0, linear = false) -> y: T[B, H] {
  if (linear) {
    n[m, j in 0..H] = tanh(a[step, m, 2 * H + j]
        + gate[m, H + j] * (b[dir, G + 2 * H + j] + sum(i) h[m, i] * r[dir, 2 * H + j, i]));
  } else {
    n[m, j in 0..H] = tanh(a[step, m, 2 * H + j] + b[dir, G + 2 * H + j]
        + sum(i) gate[m, H + i] * h[m, i] * r[dir, 2 * H + j, i]);
  }
  y[m, j in 0..H] = (1 - gate[m, j]) * n[m, j] + gate[m, j] * h[m, j];
}

// One step of an RNN.
op rnn_state(z: T[S, B, H], h: T[B, H], r: T[D, H, H]; step, dir = 0) -> y: T[B, H] {
  y[n, g] = tanh(z[step, n, g] + sum(i) h[n, i] * r[dir, g, i]);
}

// An activation of ONNX's recurrent operators, of x kept between -bound and bound
op activated(x: T[..]; kind, alpha = 0, beta = 0, bound = inf) -> y: T[..] {
  v[..] : f32 = max(min(x[..], bound), -bound);
  if (kind == "Sigmoid") { y[..] = sigmoid(v[..]); }
  if (kind == "Tanh") { y[..] = tanh(v[..]); }
  if (kind == "Relu") { y[..] = max(v[..], 0); }
  if (kind == "Affine") { y[..] = alpha * v[..] + beta; }
  if (kind == "LeakyRelu") { y[..] = v[..] < 0 ? alpha * v[..] : v[..]; }
  if (kind == "ThresholdedRelu") { y[..] = v[..] > alpha ? v[..] : 0; }
  if (kind == "ScaledTanh") { y[..] = alpha * tanh(beta * v[..]); }
  if (kind == "HardSigmoid") { y[..] = max(min(alpha * v[..] + beta, 1), 0); }
  if (kind == "Elu") { y[..] = v[..] < 0 ? alpha * expm1(v[..]) : v[..]; }
  if (kind == "Softsign") { y[..] = v[..] / (1 + abs(v[..])); }
  if (kind == "Softplus") { y[..] = softplus(v[..]); }
}

// The new cell of an LSTM with activations of its own: f of the gates, g of what comes in; tied: the
// forget gate is what the input gate leaves
op lstm_cell_with(a: T[B, G], c: T[B, H], p: T[D, P] = 0;
    dir = 0, f, f_alpha = 0, f_beta = 0, g, g_alpha = 0, g_beta = 0, bound = inf, tied = false)
    -> y: T[B, H] {
  u[n, j in 0..H] : f32 = a[n, j] + p[dir, j] * c[n, j];
  v[n, j in 0..H] : f32 = a[n, 2 * H + j] + p[dir, 2 * H + j] * c[n, j];
  w[n, j in 0..H] : f32 = a[n, 3 * H + j];
  i = activated(u, kind = f, alpha = f_alpha, beta = f_beta, bound = bound);
  x = activated(w, kind = g, alpha = g_alpha, beta = g_beta, bound = bound);
  if (tied) {
    y[n, j] = (1 - i[n, j]) * c[n, j] + i[n, j] * x[n, j];
  } else {
    k = activated(v, kind = f, alpha = f_alpha, beta = f_beta, bound = bound);
    y[n, j] = k[n, j] * c[n, j] + i[n, j] * x[n, j];
  }
}

// The new state of such an LSTM: h of its new cell
op lstm_state_with(a: T[B, G], c: T[B, H], p: T[D, P] = 0;
    dir = 0, f, f_alpha = 0, f_beta = 0, h, h_alpha = 0, h_beta = 0, bound = inf) -> y: T[B, H] {
  u[n, j in 0..H] : f32 = a[n, H + j] + p[dir, H + j] * c[n, j];
  o = activated(u, kind = f, alpha = f_alpha, beta = f_beta, bound = bound);
  x = activated(c, kind = h, alpha = h_alpha, beta = h_beta);
  y[n, j] = o[n, j] * x[n, j];
}

// gru_gates with an activation of its own
op gru_gates_with(a: T[S, B, G], h: T[B, H], r: T[D, G, H], b: T[D, F] = 0;
    step, dir = 0, f, f_alpha = 0, f_beta = 0, bound = inf) -> y: T[B, 2 * H] {
  u[n, g in 0..2 * H] : f32 = a[step, n, g] + b[dir, G + g] + sum(i) h[n, i] * r[dir, g, i];
  v = activated(u, kind = f, alpha = f_alpha, beta = f_beta, bound = bound);
  y[n, g] = v[n, g];
}

// gru_state with an activation of its own
op gru_state_with(a: T[S, B, G], gate: T[B, E], h: T[B, H], r: T[D, G, H], b: T[D, F] = 0;
    step, dir = 0, linear = false, g, g_alpha = 0, g_beta = 0, bound = inf) -> y: T[B, H] {
  if (linear) {
    u[m, j in 0..H] : f32 = a[step, m, 2 * H + j]
        + gate[m, H + j] * (b[dir, G + 2 * H + j] + sum(i) h[m, i] * r[dir, 2 * H + j, i]);
  } else {
    u[m, j in 0..H] : f32 = a[step, m, 2 * H + j] + b[dir, G + 2 * H + j]
        + sum(i) gate[m, H + i] * h[m, i] * r[dir, 2 * H + j, i];
  }
  n = activated(u, kind = g, alpha = g_alpha, beta = g_beta, bound = bound);
  y[m, j in 0..H] = (1 - gate[m, j]) * n[m, j] + gate[m, j] * h[m, j];
}

// rnn_state with an activation of its own
op rnn_state_with(z: T[S, B, H], h: T[B, H], r: T[D, H, H];
    step, dir = 0, f, f_alpha = 0, f_beta = 0, bound = inf) -> y: T[B, H] {
  u[n, g] : f32 = z[step, n, g] + sum(i) h[n, i] * r[dir, g, i];
  v = activated(u, kind = f, alpha = f_alpha, beta = f_beta, bound = bound);
  y[n, g] = v[n, g];
}

// scale q k^T in f32, before any mask
op attention_scores(q: T[.., M, D], k: T[.., N, D]; scale) -> s {
  s[.., i, j] : f32 = scale * sum(d) q[.., i, d] * k[.., j, d];
}

// x between -cap and cap, by the hyperbolic tangent
op soft_cap(x: T[..]; cap) -> y: T[..] { y[..] = cap * tanh(x[..] / cap); }

// softmax along the last dimension; a row that is -inf throughout gives 0
op softmax_of_seen(x: T[.., D]) -> y: T[.., D] {
  m[..] = max(d) x[.., d];
  e[.., d] : f32 = exp(x[.., d] - (m[..] == -inf ? 0 : m[..]));
  z[..] : f32 = sum(d) e[.., d];
  y[.., d] = z[..] > 0 ? e[.., d] / z[..] : 0;
}

// attention with a mask that may hide all of a row, which is 0 then
op attention_of_seen(q: T[.., M, D], k: T[.., N, D], v: T[.., N, E], mask: U[.., M, N];
    scale = 1 / sqrt(D)) -> o: T[.., M, E] {
  s[.., i, j] : f32 = scale * sum(d) q[.., i, d] * k[.., j, d] + mask[.., i, j];
  p : T = softmax_of_seen(s);
  o[.., i, e] = sum(j) p[.., i, j] * v[.., j, e];
}

// x where the sequence has step `step`, what was before where it has ended
op within_length(x: T[B, H], past: T[B, H], n: i32[B]; step) -> y: T[B, H] {
  y[b, j] = step < n[b] ? x[b, j] : past[b, j];
}

// The mean of each channel of [N, C, ..]
op channel_mean(x: T[N, C, ..]) -> y: T[C] { y[c] = mean(n, ..) x[n, c, ..]; }

// The variance of each channel of [N, C, ..]
op channel_variance(x: T[N, C, ..], m: T[C]) -> y: T[C] {
  y[c] = mean(n, ..) (x[n, c, ..] - m[c]) * (x[n, c, ..] - m[c]);
}

// The two halves of the last dimension turned by angles: c and s are their cosines and sines, of
// both halves.
op rotated(x: T[.., D], c: U[.., D], s: U[.., D]) -> y {
  dim R = D / 2;
  y[.., d in 0..R] : T = x[.., d] * c[.., d] - x[.., d + R] * s[.., d];
  y[.., d in R..D] : T = x[.., d] * c[.., d] + x[.., d - R] * s[.., d];
}

// The two halves of the last dimension (or its even and odd entries) turned by angles: c and s
// [B, S, R / 2] are their cosines and sines; what lies beyond R stays.
op rotary(x: T[B, H, S, D], c: U[B, S, A], s: U[B, S, A]; interleaved = false)
    -> y: T[B, H, S, D] {
  if (interleaved) {
    y[b, h, t, d in 0..D] = d >= 2 * A ? x[b, h, t, d]
        : d % 2 == 0 ? x[b, h, t, d] * (c[b, t, d / 2] or 0)
            - (x[b, h, t, d + 1] or 0) * (s[b, t, d / 2] or 0)
        : x[b, h, t, d] * (c[b, t, d / 2] or 0)
            + (x[b, h, t, d - 1] or 0) * (s[b, t, d / 2] or 0);
  } else {
    y[b, h, t, d in 0..D] = d >= 2 * A ? x[b, h, t, d]
        : d < A ? x[b, h, t, d] * (c[b, t, d] or 0) - (x[b, h, t, d + A] or 0) * (s[b, t, d] or 0)
        : x[b, h, t, d] * (c[b, t, d - A] or 0) + (x[b, h, t, d - A] or 0) * (s[b, t, d - A] or 0);
  }
}
