"""Programs whose gradients gradients.py compares with PyTorch's: what they are
given, their lines of .dcl, which define y, and y in PyTorch.

An input is name:dims, with :p for positive numbers, :u for those in [0, 1) and
:iV for integers in 0..V. BENDS has the cases where an f16 value decides a
branch of which the f64 one may be off."""

OPS = [
    ("relu", "x:5,7", "y = relu(x);", "F.relu(x)"),
    ("relu6", "x:5,7", "y = relu6(x * 4);", "F.relu6(x * 4)"),
    ("clip", "x:5,7", "y = clip(x, low = -0.5, high = 0.8);", "x.clamp(-0.5, 0.8)"),
    ("leaky_relu", "x:5,7", "y = leaky_relu(x, slope = 0.1);", "F.leaky_relu(x, 0.1)"),
    ("elu", "x:5,7", "y = elu(x, alpha = 0.7);", "F.elu(x, 0.7)"),
    ("sigmoid", "x:5,7", "y = sigmoid(x);", "torch.sigmoid(x)"),
    ("silu", "x:5,7", "y = silu(x);", "F.silu(x)"),
    ("hard_sigmoid", "x:5,7", "y = hard_sigmoid(x * 3);", "F.hardsigmoid(x * 3)"),
    ("hard_swish", "x:5,7", "y = hard_swish(x * 3);", "F.hardswish(x * 3)"),
    ("softplus", "x:5,7", "y = softplus(x);", "F.softplus(x)"),
    ("tanh", "x:5,7", "y = tanh(x);", "torch.tanh(x)"),
    ("gelu", "x:5,7", "y = gelu(x);", "F.gelu(x)"),
    ("gelu_tanh", "x:5,7", 'y = gelu(x, approximate = "tanh");',
     "F.gelu(x, approximate='tanh')"),
    ("linear", "x:3,5,24 w:9,24 b:9", "y = linear(x, w, b);", "F.linear(x, w, b)"),
    ("linear_bare", "x:11,24 w:9,24", "y = linear(x, w);", "F.linear(x, w)"),
    ("matmul", "a:2,3,5,8 b:2,3,8,6", "y = matmul(a, b);", "a @ b"),
    ("matmul_wide", "a:4,5,8 b:8,6", "y = matmul(a, b);", "a @ b"),
    ("embedding", "ids:4,6:i9 t:9,8", "y = embedding(ids, t);", "F.embedding(ids, t)"),
    ("attention", "q:2,3,6,8 k:2,3,5,8 v:2,3,5,4", "y = attention(q, k, v);",
     "F.scaled_dot_product_attention(q, k, v)"),
    ("attention_causal", "q:2,6,8 k:2,6,8 v:2,6,4", "y = attention(q, k, v, causal = true);",
     "F.scaled_dot_product_attention(q, k, v, is_causal=True)"),
    ("attention_mask", "q:2,6,8 k:2,5,8 v:2,5,4 m:6,5",
     "y = attention(q, k, v, m, scale = 0.5);",
     "F.scaled_dot_product_attention(q, k, v, m, scale=0.5)"),
    ("grouped_attention", "q:2,4,6,8 k:2,2,6,8 v:2,2,6,8",
     "y = grouped_attention(q, k, v, causal = true);",
     "F.scaled_dot_product_attention(q, k.repeat_interleave(2, 1), "
     "v.repeat_interleave(2, 1), is_causal=True)"),
    ("conv1d", "x:2,4,13 w:6,4,3 b:6",
     "y = conv1d(x, w, b, stride = 2, pad = 1, dilation = 2);",
     "F.conv1d(x, w, b, 2, 1, 2)"),
    ("conv2d", "x:2,4,9,8 w:6,4,3,3 b:6", "y = conv2d(x, w, b, pad = 1);",
     "F.conv2d(x, w, b, 1, 1)"),
    ("conv2d_stride", "x:2,4,9,8 w:6,4,3,3 b:6",
     "y = conv2d(x, w, b, stride = 2, pad = 1);", "F.conv2d(x, w, b, 2, 1)"),
    ("conv2d_uneven", "x:2,4,11,10 w:6,4,3,2",
     "y = conv2d(x, w, stride = [3, 2], pad = [1, 0], dilation = [1, 2]);",
     "F.conv2d(x, w, None, (3, 2), (1, 0), (1, 2))"),
    ("conv2d_groups", "x:2,4,9,8 w:6,2,3,3 b:6",
     "y = conv2d(x, w, b, stride = 2, groups = 2);", "F.conv2d(x, w, b, 2, 0, 1, 2)"),
    ("depthwise", "x:2,6,9,8 w:6,1,3,3", "y = conv2d(x, w, pad = 1, groups = 6);",
     "F.conv2d(x, w, None, 1, 1, 1, 6)"),
    ("pointwise_stride", "x:2,4,8,8 w:6,4,1,1", "y = conv2d(x, w, stride = 2);",
     "F.conv2d(x, w, None, 2)"),
    ("conv3d", "x:2,2,5,6,7 w:3,2,3,2,3 b:3", "y = conv3d(x, w, b, stride = [1, 2, 2], pad = 1);",
     "F.conv3d(x, w, b, (1, 2, 2), 1)"),
    ("conv_transpose2d", "x:2,4,5,4 w:4,3,3,3 b:3",
     "y = conv_transpose2d(x, w, b, stride = 2, pad = 1, extra = 1);",
     "F.conv_transpose2d(x, w, b, 2, 1, 1)"),
    ("conv_transpose2d_groups", "x:2,4,5,4 w:4,3,2,3",
     "y = conv_transpose2d(x, w, stride = [2, 3], groups = 2);",
     "F.conv_transpose2d(x, w, None, (2, 3), groups=2)"),
    ("max_pool", "x:2,3,9,8", "y = max_pool(x, kernel = 3, stride = 2, pad = 1);",
     "F.max_pool2d(x, 3, 2, 1)"),
    ("max_pool_even", "x:2,3,8,8", "y = max_pool(x, kernel = 2);", "F.max_pool2d(x, 2)"),
    ("avg_pool", "x:2,3,9,8", "y = avg_pool(x, kernel = 3, stride = 2, pad = 1);",
     "F.avg_pool2d(x, 3, 2, 1)"),
    ("avg_pool_bare", "x:2,3,9,8",
     "y = avg_pool(x, kernel = 3, stride = 2, pad = 1, count_include_pad = false);",
     "F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)"),
    ("global_avg_pool", "x:2,3,5,4", "y = global_avg_pool(x);", "x.mean((2, 3))"),
    ("upsample", "x:2,3,4,5", "y = upsample(x, scale = [2, 3]);",
     "F.interpolate(x, scale_factor=(2, 3))"),
    ("upsample_bilinear", "x:2,3,4,5", 'y = upsample(x, mode = "bilinear");',
     "F.interpolate(x, scale_factor=2, mode='bilinear', align_corners=False)"),
    ("softmax", "x:4,9", "y = softmax(x);", "x.softmax(-1)"),
    ("softmax_axis", "x:4,9,3", "y = softmax(x, axis = 1);", "x.softmax(1)"),
    ("log_softmax", "x:4,9", "y = log_softmax(x);", "x.log_softmax(-1)"),
    ("sum", "x:4,9,3", "y = sum(x, axis = 1);", "x.sum(1)"),
    ("mean", "x:4,9,3", "y = mean(x, axis = 0, keep = true);", "x.mean(0, True)"),
    ("variance", "x:4,9,3", "y = variance(x, axis = 1);", "x.var(1, correction=0)"),
    ("slice", "x:4,9", "y = slice(x, axis = 1, first = 1, last = 8, step = 3);", "x[:, 1:8:3]"),
    ("split", "x:4,9", "y = split(x, parts = 3, part = 1);", "x[:, 3:6]"),
    ("pad", "x:4,5", "y = pad(x, axis = 1, before = 2, after = 1, value = 3) * 2;",
     "F.pad(x, (2, 1), value=3.0) * 2"),
    ("layer_norm", "x:4,9 g:9 b:9", "y = layer_norm(x, g, b);",
     "F.layer_norm(x, (9,), g, b)"),
    ("rms_norm", "x:4,9 g:9", "y = rms_norm(x, g);", "F.rms_norm(x, (9,), g, 1e-6)"),
    ("batch_norm", "x:4,3,5 g:3 b:3 m:3 v:3:p", "y = batch_norm(x, g, b, m, v);",
     "(x - m[:, None]) * (v[:, None] + 1e-5).rsqrt() * g[:, None] + b[:, None]"),
    ("batch_norm_train", "x:4,3,5,2 g:3 b:3", "y = batch_norm_train(x, g, b);",
     "F.batch_norm(x, None, None, g, b, True)"),
    ("instance_norm", "x:4,3,5,2 g:3 b:3", "y = instance_norm(x, g, b);",
     "F.instance_norm(x, None, None, g, b)"),
    ("group_norm", "x:4,6,5,2 g:6 b:6", "y = group_norm(x, g, b, groups = 2);",
     "F.group_norm(x, 2, g, b)"),
    ("reshape", "x:4,6", "y = reshape(x, shape = [3, -1]) * 2;", "x.reshape(3, -1) * 2"),
    ("transpose", "x:4,6,3", "y = transpose(x, perm = [2, 0, 1]) * 2;",
     "x.permute(2, 0, 1) * 2"),
    ("concat", "a:4,6 b:4,3", "y = concat(a, b, a, axis = 1) * 2;",
     "torch.cat((a, b, a), 1) * 2"),
    ("cross_entropy", "z:6,11 t:6:i11", "y = cross_entropy(z, t);", "F.cross_entropy(z, t)"),
    ("cross_entropy_smooth", "z:6,11 t:6:i11",
     "y = cross_entropy(z, t, smoothing = 0.1, ignore = 3);",
     "F.cross_entropy(z, t, label_smoothing=0.1, ignore_index=3)"),
    ("mse", "x:4,6 t:4,6", "y = mse(x, t);", "F.mse_loss(x, t)"),
    ("bce", "x:4,6 t:4,6:u", "y = bce(x, t);", "F.binary_cross_entropy_with_logits(x, t)"),
    ("dropout", "x:8,16", "y = dropout(x, 3, p = 0.3);", "drop(x, 3, 0, 0.3)"),
    ("square_sum", "x:4,6", "y = square_sum(x);", "(x * x).sum()"),
    ("clip_by_norm", "x:4,6", "y = clip_by_norm(f32(x), limit = 1);",
     "x * (1 / (x.norm() + 1e-6)).clamp(max=1)"),
]

PROGRAMS = [
    ("cumulative", "x:3,8", "y[b, i in 0..8] = sum(k in 0..i + 1) x[b, k];", "x.cumsum(1)"),
    ("roll", "x:3,8", "y[b, i in 0..8] = x[b, (i + 5) % 8] * 2;", "x.roll(-5, 1) * 2"),
    ("flip", "x:3,8", "y[b, i in 0..8] = x[b, 7 - i] * x[b, i];", "x.flip(1) * x"),
    ("gamma", "x:5,7 p:5,7:p", "y[i, j] = lgamma(x[i, j] * 1.7 + 0.3) * 0.1 + lgamma(p[i, j] * 9) - tgamma(p[i, j]);",
     "torch.lgamma(x * 1.7 + 0.3) * 0.1 + torch.lgamma(p * 9) - torch.lgamma(p).exp()"),
    ("diagonal", "x:6,6", "y[i] = x[i, i] * x[i, 0];", "x.diagonal() * x[:, 0]"),
    ("trace_of_product", "a:5,6 b:6,5", "y[] = sum(i, j) a[i, j] * b[j, i];",
     "(a * b.T).sum()"),
    ("outer", "a:5 b:6", "y[i, j] = a[i] * b[j];", "a[:, None] * b"),
    ("bilinear", "a:4,5 w:3,5,6 b:4,6", "y[n, k] = sum(i, j) a[n, i] * w[k, i, j] * b[n, j];",
     "torch.einsum('ni,kij,nj->nk', a, w, b)"),
    ("einsum", "a:3,4,5 b:5,6,4", "y[i, k] = sum(j, l) a[i, j, l] * b[l, k, j];",
     "torch.einsum('ijl,lkj->ik', a, b)"),
    ("distances", "a:5,3 b:4,3",
     "y[i, j] = sum(k) (a[i, k] - b[j, k]) * (a[i, k] - b[j, k]);",
     "((a[:, None] - b) ** 2).sum(-1)"),
    ("cosine", "a:5,8 b:5,8",
     "p[i] : f32 = sum(k) f32(a[i, k]) * b[i, k];  q[i] : f32 = sum(k) f32(a[i, k]) * a[i, k];\n"
     "  r[i] : f32 = sum(k) f32(b[i, k]) * b[i, k];  y[i] = p[i] * rsqrt(q[i] * r[i]);",
     "F.cosine_similarity(a, b)"),
    ("swiglu", "x:5,8 u:12,8 v:12,8 w:8,12",
     "y = linear(silu(linear(x, u)) * linear(x, v), w);",
     "F.linear(F.silu(F.linear(x, u)) * F.linear(x, v), w)"),
    ("glu_conv", "x:2,4,9 w:6,4,3",
     "h = conv1d(x, w, pad = 1);\n"
     "  y = split(h, parts = 2, part = 0, axis = 1) * sigmoid(split(h, parts = 2, part = 1, axis = 1));",
     "F.glu(F.conv1d(x, w, None, 1, 1), 1)"),
    ("rotary", "x:4,6,8",
     "a[s in 0..6, i in 0..4] : f32 = s * pow(100.0, -i / 4.0);\n"
     "  y[b, s, d in 0..8] = x[b, s, d] * cos(a[s, d % 4])\n"
     "      + (d < 4 ? -1 : 1) * x[b, s, (d + 4) % 8] * sin(a[s, d % 4]);",
     "rotary(x)"),
    ("alibi", "q:2,5,8 k:2,5,8 v:2,5,8",
     "s[h, i, j] : f32 = j > i ? -inf : sum(d) q[h, i, d] * k[h, j, d] / sqrt(8)"
     " - (i - j) * pow(2.0, -1 - h);\n"
     "  p = softmax(s);  y[h, i, d] = sum(j) p[h, i, j] * v[h, j, d];", "alibi(q, k, v)"),
    ("attention_alike", "q:2,6,8 k:2,16,8 v:2,16,8",
     "a[h, j, d] : f32 = 1 + 0.2 * f32(k[h, j, d]);  b[h, j, d] : f32 = 1 + 0.2 * f32(v[h, j, d]);\n"
     "  y = attention(f32(q), a, b);",
     "F.scaled_dot_product_attention(q, 1 + 0.2 * k, 1 + 0.2 * v)"),
    ("squeeze_excite", "x:2,6,4,4 a:3,6 b:6,3",
     "g = sigmoid(linear(relu(linear(global_avg_pool(x), a)), b));\n"
     "  y[n, c, i, j] = x[n, c, i, j] * g[n, c];",
     "x * torch.sigmoid(F.linear(F.relu(F.linear(x.mean((2, 3)), a)), b))[:, :, None, None]"),
    ("pixel_shuffle", "x:2,8,3,4",
     "y[n, c in 0..2, i in 0..6, j in 0..8] = x[n, c * 4 + i % 2 * 2 + j % 2, i / 2, j / 2] * 2;",
     "F.pixel_shuffle(x, 2) * 2"),
    ("patches", "x:2,3,8,8 w:5,48",
     "p[n, t in 0..4, d in 0..48] = x[n, d / 16, t / 2 * 4 + d / 4 % 4, t % 2 * 4 + d % 4];\n"
     "  y = linear(p, w);",
     "F.conv2d(x, w.reshape(5, 3, 4, 4), None, 4).flatten(2).transpose(1, 2)"),
    ("moving_average", "x:3,12", "y[b, i in 0..8] = mean(r in 0..5) x[b, i + r];",
     "x.unfold(1, 5, 1).mean(-1)"),
    ("window_max", "x:3,12", "y[b, i in 0..8] = max(r in 0..5) x[b, i + r];",
     "x.unfold(1, 5, 1).amax(-1)"),
    ("row_min", "x:5,9", "y[b] = min(i) x[b, i];", "x.amin(1)"),
    ("product", "x:4,5:p", "y[b] = prod(i) x[b, i];", "x.prod(1)"),
    ("picked", "x:5,9 w:9", "k[b] = argmax(i) x[b, i];  y[b] = x[b, k[b]] * w[k[b]];",
     "x.amax(1) * w[x.argmax(1)]"),
    ("gathered_twice", "t:7,4 a:5:i7 b:5:i7", "y[i, d] = t[a[i], d] * t[b[i], d];",
     "t[a] * t[b]"),
    ("graph_mean", "x:6,4 e:9,2:i6 w:3,4",
     "m : f32[6, 4] = 0;  m[e[i, 0], d] += x[e[i, 1], d];  y = linear(m, f32(w));",
     "F.linear(torch.zeros_like(x).index_add(0, e[:, 0], x[e[:, 1]]), w)"),
    ("parts", "a:3,4 b:4", "y[0, j] = b[j] * 2;  y[i in 1..4, j] = a[i - 1, j] * b[j];",
     "torch.cat((b[None] * 2, a * b))"),
    ("interleave", "a:5 b:5", "y[i * 2] = a[i] * b[i];  y[i * 2 + 1] = b[i];",
     "torch.stack((a * b, b), 1).flatten()"),
    ("overwritten", "x:6 z:2", "y[i] = x[i] * 2;  q = sum(y);  y[i in 2..4] = z[i - 2] * q;",
     "torch.cat((x[:2] * 2, z * (x * 2).sum(), x[4:] * 2))"),
    ("edges", "x:3,8", "y[b, i] = x[b, i] - x[b, i - 1] or x[b, i];",
     "x - torch.cat((x[:, :1], x[:, :-1]), 1)"),
    ("clamped", "x:3,8", "y[b, i in 0..8] = x[b, max(i - 2, 0)] * x[b, min(i + 1, 7)];",
     "x[:, [0, 0, 0, 1, 2, 3, 4, 5]] * x[:, [1, 2, 3, 4, 5, 6, 7, 7]]"),
    ("select", "a:4,6 b:4,6", "y[i, j] = a[i, j] > b[i, j] ? a[i, j] * b[i, j] : exp(b[i, j]);",
     "torch.where(a > b, a * b, b.exp())"),
    ("guarded_log", "x:4,6", "y[i, j] = x[i, j] > 0 ? log(x[i, j]) : 0;",
     "torch.where(x > 0, x.clamp(min=1e-9).log(), 0)"),
    ("huber", "a:4,6 b:4,6",
     "d[i, j] : f32 = abs(f32(a[i, j]) - b[i, j]);\n"
     "  y[] = mean(i, j) (d[i, j] < 1 ? 0.5 * d[i, j] * d[i, j] : d[i, j] - 0.5);",
     "F.huber_loss(a, b)"),
    ("focal", "z:6,5 t:6:i5",
     "l = log_softmax(f32(z));  u[b] = l[b, t[b]];\n"
     "  y[] = mean(b) (-pow(1 - exp(u[b]), 2) * u[b]);", "focal(z, t)"),
    ("dice", "z:3,20 t:3,20:u",
     "p = sigmoid(f32(z));  a[b] : f32 = sum(i) p[b, i] * t[b, i];\n"
     "  s[b] : f32 = sum(i) (p[b, i] + t[b, i]);  y[] = 1 - mean(b) ((2 * a[b] + 1) / (s[b] + 1));",
     "dice(z, t)"),
    ("contrastive", "a:6,8 b:6,8",
     "s[i, j] : f32 = sum(d) f32(a[i, d]) * b[j, d] / 0.5;  l = log_softmax(s);\n"
     "  y[] = -mean(i) l[i, i];", "F.cross_entropy(a @ b.T / 0.5, torch.arange(6))"),
    ("kl", "a:4,7 b:4,7",
     "p = log_softmax(f32(a));  q = log_softmax(f32(b));\n"
     "  y[] = (sum(i, j) exp(q[i, j]) * (q[i, j] - p[i, j])) / 4;",
     "F.kl_div(a.log_softmax(1), b.log_softmax(1), reduction='batchmean', log_target=True)"),
    ("triplet", "a:5,4 p:5,4 n:5,4",
     "u[i] : f32 = sqrt(sum(d) (f32(a[i, d]) - p[i, d]) * (f32(a[i, d]) - p[i, d]));\n"
     "  v[i] : f32 = sqrt(sum(d) (f32(a[i, d]) - n[i, d]) * (f32(a[i, d]) - n[i, d]));\n"
     "  y[] = mean(i) max(u[i] - v[i] + 1, 0);", "F.triplet_margin_loss(a, p, n, eps=0)"),
    ("gaussian", "m:4,6 s:4,6:p t:4,6",
     "y[] = mean(i, j) (0.5 * (log(f32(s[i, j]))"
     " + (f32(m[i, j]) - t[i, j]) * (f32(m[i, j]) - t[i, j]) / s[i, j]));",
     "F.gaussian_nll_loss(m, t, s)"),
    ("logsumexp", "x:4,9", "m[b] = max(i) x[b, i];\n"
     "  y[b] : f32 = log(sum(i) exp(f32(x[b, i]) - m[b])) + m[b];", "x.logsumexp(1)"),
    ("factorisation_machine", "x:4,6 v:6,3",
     "a[b, k] : f32 = sum(i) x[b, i] * v[i, k];\n"
     "  q[b, k] : f32 = sum(i) x[b, i] * x[b, i] * v[i, k] * v[i, k];\n"
     "  y[b] = 0.5 * sum(k) (a[b, k] * a[b, k] - q[b, k]);",
     "0.5 * ((x @ v) ** 2 - (x * x) @ (v * v)).sum(1)"),
    ("lstm_cell", "x:3,4 h:3,5 c:3,5 w:20,4 u:20,5 b:20",
     "g = linear(x, w, b) + linear(h, u);\n"
     "  d[n, j in 0..5] = sigmoid(g[n, j + 5]) * c[n, j] + sigmoid(g[n, j]) * tanh(g[n, j + 10]);\n"
     "  y[n, j in 0..5] = sigmoid(g[n, j + 15]) * tanh(d[n, j]);", "lstm(x, h, c, w, u, b)"),
    ("gru_steps", "x:3,4,6 w:18,6 u:18,6",
     "h : E[3, 6] = 0;\n"
     "  for t in 0..4 {\n"
     "    a[n, i] = sum(k) x[n, t, k] * w[i, k];  b[n, i] = sum(k) h[n, k] * u[i, k];\n"
     "    z[n, j in 0..6] = sigmoid(a[n, j + 6] + b[n, j + 6]);\n"
     "    c[n, j in 0..6] = tanh(a[n, j + 12] + sigmoid(a[n, j] + b[n, j]) * b[n, j + 12]);\n"
     "    h = (1 - z) * c + z * h;\n"
     "  }\n"
     "  y = h;", "gru(x, w, u)"),
    ("soft_experts", "x:5,4 r:3,4 w:3,6,4",
     "g = softmax(linear(x, r));  y[b, o] = sum(e, i) g[b, e] * w[e, o, i] * x[b, i];",
     "torch.einsum('be,eoi,bi->bo', F.linear(x, r).softmax(1), w, x)"),
    ("tied_autoencoder", "x:5,8 w:3,8",
     "h = tanh(linear(x, w));  o[b, i] = sum(k) h[b, k] * w[k, i];  y = mse(o, x);",
     "F.mse_loss(torch.tanh(x @ w.T) @ w, x)"),
    ("fourier", "x:3,8",
     "a[b, k in 0..5] : f32 = sum(i) x[b, i] * cos(0.7853981633974483 * i * k);\n"
     "  c[b, k in 0..5] : f32 = sum(i) x[b, i] * sin(0.7853981633974483 * i * k);\n"
     "  y[b, k] = a[b, k] * a[b, k] + c[b, k] * c[b, k];", "torch.fft.rfft(x).abs() ** 2"),
    ("polynomial", "x:4,6 c:4", "y[i, j] = c[0] + x[i, j] * (c[1] + x[i, j] * (c[2] + x[i, j] * c[3]));",
     "c[0] + x * (c[1] + x * (c[2] + x * c[3]))"),
    ("angles", "a:4,6:p b:4,6:p", "y[i, j] = atan2(a[i, j], b[i, j]) * hypot(a[i, j], b[i, j]);",
     "torch.atan2(a, b) * torch.hypot(a, b)"),
    ("functions", "x:4,6:u",
     "y[i, j] : f32 = asin(0.5 * x[i, j]) + sinh(x[i, j]) + log1p(x[i, j]) + expm1(x[i, j])\n"
     "      + erf(x[i, j]) + atanh(0.5 * x[i, j]) + cbrt(x[i, j] + 1) + exp2(x[i, j]) + tan(x[i, j]);",
     "torch.asin(0.5 * x) + x.sinh() + x.log1p() + x.expm1() + x.erf() + (0.5 * x).atanh()"
     " + (x + 1) ** (1 / 3) + x.exp2() + x.tan()"),
    ("crf", "x:3,5,4 w:4,4",
     "a[b, k in 0..4] : f32 = x[b, 0, k];\n"
     "  for t in 1..5 {\n"
     "    s[b, k, j in 0..4] : f32 = a[b, j] + w[j, k];  m[b, k] = stop(max(j) s[b, k, j]);\n"
     "    n[b, k] : f32 = log(sum(j) exp(s[b, k, j] - m[b, k])) + m[b, k] + x[b, t, k];\n"
     "    a = n;\n"
     "  }\n"
     "  q[b] = max(k) a[b, k];  y[b] : f32 = log(sum(k) exp(a[b, k] - q[b])) + q[b];", "crf(x, w)"),
    ("ctc", "x:6,5 t:2:i4",
     "l = log_softmax(f32(x));\n"
     "  s[j in 0..5] : i32 = j % 2 == 0 ? 4 : (t[j / 2] or 0);\n"
     "  a[j in 0..5] : f32 = j < 2 ? l[0, s[j]] : -1e30;\n"
     "  for i in 1..6 {\n"
     "    p[j in 0..5] : f32 = a[j - 1] or -1e30;\n"
     "    q[j in 0..5] : f32 = j % 2 == 1 && j > 1 && s[max(j - 2, 0)] != s[j] ?"
     " a[max(j - 2, 0)] : -1e30;\n"
     "    m[j] = max(a[j], max(p[j], q[j]));\n"
     "    n[j] : f32 = m[j] + log(exp(a[j] - m[j]) + exp(p[j] - m[j]) + exp(q[j] - m[j]))"
     " + l[i, s[j]];\n"
     "    a = n;\n"
     "  }\n"
     "  y[] = -(max(a[3], a[4]) + log1p(exp(min(a[3] - a[4], a[4] - a[3]))));",
     "F.ctc_loss(x.log_softmax(1)[:, None], t[None], [6], [2], blank=4, reduction='none')[0]"),
    ("graph_attention", "x:6,4 e:9,2:i6 w:4,4 a:4",
     "h = f32(linear(x, w));\n"
     "  s[k] = leaky_relu(sum(d) (h[e[k, 0], d] + h[e[k, 1], d]) * f32(a[d]), slope = 0.2);\n"
     "  q[k] = exp(s[k]);  n : f32[6] = 0;  n[e[k, 0]] += q[k];\n"
     "  o : f32[6, 4] = 0;  o[e[k, 0], d] += q[k] / n[e[k, 0]] * h[e[k, 1], d];  y = o;",
     "graph_attention(x, e, w, a)"),
    ("rays", "d:4,7:p c:4,7,3",
     "a[r, i] : f32 = 1 - exp(-d[r, i] * 0.3);  t[r, i in 0..7] : f32 = prod(j in 0..i) (1 - a[r, j]);\n"
     "  y[r, k] : f32 = sum(i) a[r, i] * t[r, i] * c[r, i, k];", "rays(d, c)"),
    ("vae", "x:7,33 w:10,33 u:10,33 v:33,10 e:7,10",
     "m = linear(x, w);  l = linear(x, u);  z[b, i] = m[b, i] + exp(0.5 * l[b, i]) * e[b, i];\n"
     "  r = sigmoid(linear(z, v));  c[b] = sum(j) (r[b, j] - x[b, j]) * (r[b, j] - x[b, j]);\n"
     "  k[b] = sum(i) (1 + l[b, i] - m[b, i] * m[b, i] - exp(l[b, i])) * -0.5;  y[b] = c[b] + 0.1 * k[b];",
     "vae(x, F.linear(x, w), F.linear(x, u), v, e)"),
    ("swin", "x:2,8,8,12 w:36,12 b:36 t:49,3",
     "q[n, i in 0..2, j in 0..2, a in 0..16, d in 0..12] ="
     " x[n, (i * 4 + a / 4 + 2) % 8, (j * 4 + a % 4 + 2) % 8, d];\n"
     "  h = linear(q, w, b);  s[n, i, j, e in 0..3, a, c in 0..16] : f32 ="
     " (sum(d in 0..4) h[n, i, j, a, e * 4 + d] * h[n, i, j, c, 12 + e * 4 + d]) * 0.5\n"
     "    + t[(a / 4 - c / 4 + 3) * 7 + a % 4 - c % 4 + 3, e] + (i == 1 && (a / 8 != c / 8) ? -100.0 : 0);\n"
     "  p = softmax(s);  y[n, i, j, a, f in 0..12] = sum(c) p[n, i, j, f / 4, a, c] * h[n, i, j, c, 24 + f];",
     "swin(x, w, b, t)"),
    ("spectral", "x:6,17 w:11,17 u:11 b:11",
     "a[k] : f32 = sum(o) f32(w[o, k]) * u[o];  n[] : f32 = sum(k) a[k] * a[k];\n"
     "  d[k] : f32 = a[k] * rsqrt(n);  c[o] : f32 = sum(k) f32(w[o, k]) * d[k];\n"
     "  m[] : f32 = sum(o) c[o] * c[o];  q[o] : f32 = c[o] * rsqrt(m);  e = stop(q);  f = stop(d);\n"
     "  g[] : f32 = sum(o, k) e[o] * f32(w[o, k]) * f[k];  z = linear(x, w);  y[i, o] = z[i, o] / g * b[o];",
     "spectral(x, w, u, b)"),
    ("weight_norm", "x:3,5,9,7 w:6,5,3,3 g:6",
     "n[o] : f32 = sum(c, r, s) f32(w[o, c, r, s]) * w[o, c, r, s];\n"
     "  k[o, c, r, s] : E = w[o, c, r, s] * rsqrt(n[o]) * g[o];  y = conv2d(x, k, pad = 1, stride = 2);",
     "F.conv2d(x, w * (g / w.flatten(1).norm(dim=1))[:, None, None, None], None, 2, 1)"),
    ("giou", "x:9,4:u z:9,4:u",
     "a[i, d in 0..2] : f32 = x[i, d];  c[i, d in 0..2] : f32 = x[i, d] + 0.2 + x[i, d + 2];\n"
     "  e[i, d in 0..2] : f32 = z[i, d];  f[i, d in 0..2] : f32 = z[i, d] + 0.2 + z[i, d + 2];\n"
     "  n[i, d] : f32 = max(0, min(c[i, d], f[i, d]) - max(a[i, d], e[i, d]));  k[i] = n[i, 0] * n[i, 1];\n"
     "  o[i, d] : f32 = max(c[i, d], f[i, d]) - min(a[i, d], e[i, d]);  g[i] = o[i, 0] * o[i, 1];\n"
     "  s[i] = prod(d) (c[i, d] - a[i, d]);  t[i] = prod(d) (f[i, d] - e[i, d]);  w[i] = s[i] + t[i] - k[i];\n"
     "  y[i] = 1 - k[i] / w[i] + (g[i] - w[i]) / g[i];", "giou(x, z)"),
    ("top2", "x:9,10 w:5,10 v:5,8,10",
     "s = softmax(linear(x, w));  k[b] = argmax(e) s[b, e];\n"
     "  r[b, e in 0..5] = e == k[b] ? -1.0 : f32(s[b, e]);  l[b] = argmax(e) r[b, e];\n"
     "  g[b] : f32 = s[b, k[b]];  h[b] : f32 = s[b, l[b]];  z[b] : f32 = g[b] + h[b];\n"
     "  c[b, e in 0..5] : f32 = e == k[b] ? g[b] / z[b] : e == l[b] ? h[b] / z[b] : 0;\n"
     "  o[b, e, d] : f32 = tanh(sum(i) x[b, i] * v[e, d, i]);\n"
     "  y[b, d] = sum(e) c[b, e] * o[b, e, d] + 0.1 * (mean(e) s[b, e] * s[b, e]);", "top2(x, w, v)"),
    ("straight_through", "x:6,9 w:7,9",
     "a[o] : f32 = max(i) abs(w[o, i]);  q[o, i] : f32 = nearbyint(f32(w[o, i]) / a[o] * 7) / 7 * a[o];\n"
     "  d[o, i] : f32 = q[o, i] - w[o, i];  k = w + stop(d);  y = linear(f32(x), k);",
     "F.linear(x, w + (quantised(w) - w).detach())"),
    ("sinkhorn", "c:6,7:p",
     "k[i, j] : f32 = exp(-c[i, j] * 2);  a : f32[6] = 1.0;\n"
     "  for t in 0..2 { b[j] : f32 = 1.0 / 7 / (sum(i) k[i, j] * a[i]);"
     "  a[i] : f32 = 1.0 / 6 / (sum(j) k[i, j] * b[j]); }\n"
     "  y[i, j] = a[i] * k[i, j] * b[j] * c[i, j];", "sinkhorn(c)"),
    ("attention_penalty", "q:2,5,8 k:2,6,8 v:2,6,8",
     "a = attention(q, k, v);  s[] : f32 = sum(b, i, d) f32(a[b, i, d]) * a[b, i, d];  g = grad(s, q);\n"
     "  y[b, i, d] = g[b, i, d] * g[b, i, d] + a[b, i, d];", "attention_penalty(q, k, v)"),
    ("state_space", "u:2,7,4 a:4,3:p b:2,7,3 c:2,7,3 d:2,7,4:p",
     "h : f32[2, 4, 3] = 0;  o : f32[2, 7, 4] = 0;\n"
     "  for t in 0..7 { h[n, e, k] = exp(-f32(d[n, t, e]) * a[e, k]) * h[n, e, k]"
     " + d[n, t, e] * b[n, t, k] * u[n, t, e];\n"
     "    o[n, t, e] = sum(k) h[n, e, k] * c[n, t, k]; }\n  y = o + 0;", "state_space(u, a, b, c, d)"),
    ("inner_step", "x:4,6 t:4,3 w:3,6 z:5,6 u:5,3",
     "a = mse(linear(f32(x), f32(w)), f32(t));  f = f32(w) - 0.3 * grad(a, w);\n"
     "  y = mse(tanh(linear(f32(z), f)), f32(u));", "inner_step(x, t, w, z, u)"),
    ("third", "x:6,1 w:8,1 b:8 v:1,8",
     "u = linear(tanh(linear(f32(x), f32(w), f32(b))), f32(v));  s = sum(sum(u, axis = 1), axis = 0);\n"
     "  g = grad(s, x);  t = sum(sum(g, axis = 1), axis = 0);  h = grad(t, x);\n"
     "  y[] = mean(i) (h[i, 0] + u[i, 0]) * (h[i, 0] + u[i, 0]);", "third(x, w, b, v)"),
    ("lstm_steps", "x:6,3,10 w:32,10 u:32,8 b:32",
     "h : E[3, 8] = 0;  c : f32[3, 8] = 0;\n"
     "  for t in 0..6 { q[i, j] : f32 = sum(k) x[t, i, k] * w[j, k] + (sum(k) h[i, k] * u[j, k]) + b[j];\n"
     "    c[i, j in 0..8] : f32 = sigmoid(q[i, 8 + j]) * c[i, j] + sigmoid(q[i, j]) * tanh(q[i, 16 + j]);\n"
     "    h[i, j in 0..8] : E = sigmoid(q[i, 24 + j]) * tanh(c[i, j]);  y[i, t, j] = h[i, j]; }", "lstm_steps(x, w, u, b)"),
    ("bidirectional", "x:2,6,12 w:9,12 u:9,9 v:9,12 z:9,9",
     "a : E[2, 9] = 0;  c : E[2, 9] = 0;  y : E[2, 6, 18] = 0;\n"
     "  for t in 0..6 { p[i, d] = x[i, t, d];  a = tanh(linear(p, w) + linear(a, u));  y[i, t, j in 0..9] = a[i, j];\n"
     "    q[i, d] = x[i, 5 - t, d];  c = tanh(linear(q, v) + linear(c, z));  y[i, 5 - t, j + 9] = c[i, j]; }",
     "bidirectional(x, w, u, v, z)"),
    ("conv_transpose_wide", "x:2,16,5,6 w:16,8,4,4", "y = conv_transpose2d(x, w, stride = 2, pad = 1);",
     "F.conv_transpose2d(x, w, None, 2, 1)"),
    ("triplet_hard", "x:9,12 w:6,12 t:9:i3",
     "e = f32(linear(x, w));  n[i] = rsqrt(sum(d) e[i, d] * e[i, d]);  z[i, d] = e[i, d] * n[i];\n"
     "  s[i, j] = 2 - 2 * (sum(d) z[i, d] * z[j, d]);  a[i] = max(j) (t[i] == t[j] ? s[i, j] : -9.0);\n"
     "  c[i] = min(j) (t[i] != t[j] ? s[i, j] : 9.0);  y[i] = max(a[i] - c[i] + 0.2, 0.0);", "triplet_hard(x, w, t)"),
    ("surrogate", "x:7,10 w:4,10 v:10 old:7 t:7:i4 r:7",
     "l = log_softmax(linear(f32(x), f32(w)));  q[i] : f32 = sum(k) x[i, k] * v[k];  a[i] : f32 = r[i] - q[i];  s = stop(a);\n"
     "  m[] = mean(i) s[i];  d[] = sqrt((mean(i) (s[i] - m) * (s[i] - m)) + 1e-8);  g[i] = (s[i] - m) / d;\n"
     "  k[i] = exp(l[i, t[i]] - old[i]);  c = clip(k, low = 0.8, high = 1.2);\n"
     "  y[i] = 0.5 * a[i] * a[i] - min(k[i] * g[i], c[i] * g[i]) + 0.01 * (sum(j) exp(l[i, j]) * l[i, j]);",
     "surrogate(x, w, v, old, t, r)"),
    ("second", "x:4,6 w:3,6 t:4,3",
     "a = mse(tanh(linear(f32(x), f32(w))), 0.5 * f32(t));\n"
     "  g = grad(a, x);  y = square_sum(g) * 10;", "second(x, w, t)"),
]



def _transformer(name, dcl, torch, first, layers, d, last="", options=""):
    """A network of encoder layers between the lines of `first` and `last`."""
    words, lines, call = first.split(), [], "h"
    for i in range(layers):
        own = ["wq%d:D,D", "bq%d:D", "wk%d:D,D", "bk%d:D", "wv%d:D,D", "bv%d:D",
               "wo%d:D,D", "bo%d:D", "g%d:D:p", "c%d:D", "wi%d:I,D", "bi%d:I",
               "wu%d:D,I", "bu%d:D", "p%d:D:p", "e%d:D"]
        own = [w % i for w in own]
        args = ", ".join(w.split(":")[0] for w in own)
        words += [w.replace("D", str(d)).replace("I", str(2 * d)) for w in own]
        lines.append("h = encoder_layer(h, %s, heads = 2%s);" % (args, options))
        call = "layer(%s, %s%s)" % (call, args, options.replace(
            "true", "True"))
    words += last.split()
    return (name, " ".join(words), dcl[0] + "\n  " + "\n  ".join(
        lines + [dcl[1]]), torch % call.replace("(h,", "(%s," % "h0()"))


OWN_OPS = """op encoder_layer(x: T[B, S, D], wq: T[D, D], bq: T[D], wk: T[D, D], bk: T[D], wv: T[D, D],
    bv: T[D], wo: T[D, D], bo: T[D], g: T[D], c: T[D], wi: T[I, D], bi: T[I], wu: T[D, I],
    bu: T[D], p: T[D], e: T[D]; heads, first = false, causal = false) -> y: T[B, S, D] {
  dim K = D / heads;
  if (first) { n = layer_norm(x, g, c); } else { n = x; }
  a = linear(n, wq, bq);
  k = linear(n, wk, bk);
  v = linear(n, wv, bv);
  ah[b, h in 0..heads, s, d in 0..K] = a[b, s, h * K + d];
  kh[b, h in 0..heads, s, d in 0..K] = k[b, s, h * K + d];
  vh[b, h in 0..heads, s, d in 0..K] = v[b, s, h * K + d];
  o = attention(ah, kh, vh, causal = causal);
  m[b, s, d in 0..D] = o[b, d / K, s, d % K];
  r = x + linear(m, wo, bo);
  if (first) { t = layer_norm(r, p, e); }
  else {
    r = layer_norm(r, g, c);
    t = r;
  }
  y = r + linear(gelu(linear(t, wi, bi)), wu, bu);
  if (!first) { y = layer_norm(y, p, e); }
}
"""

NETWORKS = [
    ("mlp_tanh", "x:16,20 wa:32,20 ba:32 wb:24,32 bb:24 wc:10,24 t:16:i10",
     "y = cross_entropy(linear(tanh(linear(tanh(linear(x, wa, ba)), wb, bb)), wc), t);",
     "F.cross_entropy(F.linear(torch.tanh(F.linear(torch.tanh(F.linear(x, wa, ba)), wb, bb)), wc),"
     " t)"),
    _transformer("bert_s128", ("e[b, s, d] = wt[ids[b, s], d] + ws[s, d];  h = layer_norm(e, ga, ca);",
                               "y = h;"), "%s", "ids:1,128:i50 wt:50,32 ws:128,32 ga:32:p ca:32",
                 2, 32),
    _transformer("gpt2_tied", ("h[b, s, d] = wt[ids[b, s], d] + ws[s, d];",
                               "y = cross_entropy(linear(layer_norm(h, ga, ca), wt), t);"),
                 "F.cross_entropy(F.linear(norm(%s, ga, ca), wt).flatten(0, 1), t.flatten())",
                 "ids:2,24:i60 wt:60,32 ws:24,32 ga:32:p ca:32 t:2,24:i60", 2, 32,
                 options=", first = true, causal = true"),
    _transformer("vit", ("q = conv2d(x, wp, bp, stride = 4);\n"
                         "  h[n, t in 0..17, d] ="
                         " (t == 0 ? k[d] : q[n, d, (t - 1) / 4, (t - 1) % 4] or 0) + ws[t, d];",
                         "o[n, d] = h[n, 0, d];  y = linear(layer_norm(o, ga, ca), wl, bl);"),
                 "F.linear(norm(%s[:, 0], ga, ca), wl, bl)",
                 "x:2,3,16,16 wp:32,3,4,4 bp:32 k:32 ws:17,32 ga:32:p ca:32 wl:10,32 bl:10", 2, 32,
                 options=", first = true"),
]

BENDS = {"ctc", "graph_attention", "picked", "select", "max_pool", "max_pool_even", "window_max", "row_min",
         "giou", "top2", "straight_through", "triplet_hard", "surrogate"}
