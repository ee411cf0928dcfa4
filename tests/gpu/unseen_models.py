"""Models of kinds that users write, of odd sizes, drawn from a seed.

A kind is a function here: products in every layout, convolutions, attention,
norms, pools, views, reductions, state, gathers and scatters, steps of training.
It writes a model's lines into a Draw, counts its terms and bytes, and returns
what sort of plan it wants (FAMILIES). unseen.py runs them."""
import math
import random

SIZES = [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 48, 63, 64, 65,
         72, 96, 100, 120, 127, 128, 129, 136, 160, 192, 200, 250, 255, 256,
         257, 264, 300, 320, 333, 384, 500, 512, 520, 640, 768, 777, 1000, 1024,
         1333, 2000, 2048, 2056, 3072, 4096, 5000]
FAMILIES = {  # those that a plan may be full of, for kinds of models
    "product": ["contract_wgmma", "contract_mma", "contract_simt",
                "contract_skinny", "contract_stream"],
    "conv": ["contract_wgmma", "contract_mma", "contract_halo", "contract_taps",
             "contract_simt"],
    "attention": ["chain_wgmma", "chain_few", "chain_window", "contract_wgmma"],
    "rows": ["reduce", "map", "prefix"], "map": ["map", "turn"],
    "training": ["contract_wgmma", "contract_mma", "reduce", "map"]}
WHOLE = ["relu(%s)", "gelu(%s)", "silu(%s)", "tanh(%s)", "sigmoid(%s)",
         "%s * 0.5", "abs(%s)", "leaky_relu(%s)", "hard_swish(%s)", "exp(%s)",
         "sqrt(abs(%s) + 0.5)", "gelu(%s, approximate = \"tanh\")", "%s"]


class Draw:
    """A model's lines, and how many terms it has."""

    def __init__(self, number, kind, rng):
        self.r, self.number, self.kind = rng, number, kind
        self.line, self.terms, self.bytes, self.states = [], 0, 0, 0
        self.type = rng.choice(["f16"] * 4 + ["bf16"] * 2 + ["f32"] * 2)
        self.family = KINDS[kind](self)

    def text(self):
        return "model m%d {  // %s\n  %s\n}\n" % (
            self.number, self.kind, "\n  ".join(self.line))

    def put(self, text, *args):
        self.line.append(text % args if args else text)

    def give(self, name, *dims, type=None, kind="input", within=None):
        self.bytes += math.prod(dims) * 4
        self.put("%s %s : %s[%s]%s;" % (kind, name, type or self.type, ", ".join(
            map(str, dims)), " in %d..%d" % within if within else ""))

    def some(self, *of):
        return self.r.choice(of)

    def size(self, most=4096, least=1):
        return self.r.choice([s for s in SIZES if least <= s <= most])

    def yes(self, p=0.5):
        return self.r.random() < p

    def on(self, text):
        return self.r.choice(WHOLE) % text

    def finish(self, name, dims):
        """What stands behind a product, and the output."""
        at = "ijklm"[:len(dims)]
        e = "%s[%s]" % (name, ", ".join(at))
        if self.yes(0.3):
            d = self.r.randrange(len(dims))
            self.give("bias", dims[d], kind="param")
            e = "%s + bias[%s]" % (e, at[d])
        if self.yes(0.3):
            e = self.on("(%s)" % e)
        if self.yes(0.25):
            self.give("more", *dims)
            e = "%s + more[%s]" % (e, ", ".join(at))
        to = self.some("", "", "", " : f32", " : f16", " : bf16")
        order = list(range(len(dims)))
        if self.yes(0.2):
            self.r.shuffle(order)
        self.put("output y[%s]%s = %s;" % (", ".join(
            "%s in 0..%d" % (at[d], dims[d]) for d in order), to, e))
        self.total(dims)

    def total(self, dims, each=1):
        self.terms += math.prod(dims) * each
        self.bytes += math.prod(dims) * 4


def product(d):
    m, n, k = d.size(), d.size(), d.size(2048)
    batch = [d.size(40)] if d.yes(0.35) else []
    b = "b" * len(batch)
    extent = dict(i=m, j=n, k=k, b=batch[0] if batch else 1)

    def operand(name, axes):
        axes = list(axes)
        d.r.shuffle(axes)
        if b and not (name == "w" and d.yes(0.25)):
            axes.insert(d.r.choice([0, 0, 1]), b)
        dims, at = [extent[x] for x in axes], list(axes)
        how, p = d.r.randrange(12), d.r.randrange(len(axes))
        if how == 0:       # a slice
            off = d.some(1, 3, 8)
            dims[p], at[p] = dims[p] + off + d.r.randint(0, 3), "%s + %d" % (
                at[p], off)
        elif how == 1:     # with steps
            dims[p], at[p] = dims[p] * 2, at[p] + " * 2"
        elif how == 2:     # backwards
            at[p] = "%d - %s" % (dims[p] - 1, at[p])
        elif how == 3 and axes[p] != "k":     # gathered
            rows = d.size(300)
            d.give("id" + name, dims[p], type="i32", within=(0, rows))
            dims[p], at[p] = rows, "id%s[%s]" % (name, at[p])
        elif how == 4:     # parts of a row, as heads
            dims[-1], at[-1] = dims[-1] * 3, "%s + %d" % (at[-1], dims[-1])
        elif how == 5 and len(axes) > 1:      # a window
            q = d.r.choice([x for x in range(len(axes)) if x != p])
            at[p] = "%s + %s" % (at[p], at[q])
            dims[p] += dims[q] - 1
            del dims[q], at[q]
        elif how == 6 and dims[p] % 2 == 0:   # concatenated
            dims[p] //= 2
            d.give(name + "1", *dims, kind=d.some("input", "param"))
            d.give(name + "2", *dims)
            d.put("%s = concat(%s1, %s2, axis = %d);", name, name, name, p)
            return "%s[%s]" % (name, ", ".join(at))
        d.give(name, *dims, kind=d.some("input", "param"))
        return d.r.choice(WHOLE) % ("%s[%s]" % (name, ", ".join(at))) \
            if d.yes(0.12) else "%s[%s]" % (name, ", ".join(at))
    x, w = operand("x", "ik"), operand("w", "jk")
    left = ["i", "j"]
    if d.yes(0.3):
        left.reverse()
    left = ([b] if b else []) + left
    dims = [extent[a] for a in left]
    d.put("z[%s]%s = sum(k in 0..%d) %s * %s;", ", ".join(
        "%s in 0..%d" % (a, extent[a]) for a in left),
        d.some("", "", " : f32"), k, x, w)
    d.terms += m * n * k * extent["b"]
    d.finish("z", dims)
    return "product"


def integers(d):
    m, n, k = d.size(1024), d.size(1024), d.size(1024)
    a, w = d.some("i8", "u8"), d.some("i8", "i8", "f16")
    if d.yes():
        d.give("x", m, k, type=a)
        d.give("w", n, k, type=a, kind="param")
        d.put("z[i, j] = sum(k) x[i, k] * w[j, k];")
        d.put("output y = z * 2 + 1;")
    else:
        d.give("x", m, k, type="f16")
        d.give("w", n, k, type="i8", kind="param")
        d.give("s", n, kind="param", type="f16")
        d.put("output y[i, j] = (sum(k) x[i, k] * f16(w[j, k])) * s[j];")
    d.total([m, n], k)
    return "product"


def conv(d):
    rank = d.some(1, 2, 2, 2, 2, 3)
    groups = d.some(1, 1, 1, 1, 2, 4)
    c, k = d.size(128), d.size(256)
    if d.yes(0.3):
        c = d.some(1, 2, 3, 4)
    if d.yes(0.15):
        groups = c = k = d.size(128)
    c, k = c * groups // (groups if groups == c else 1), k
    k = -(-k // groups) * groups
    c = -(-c // groups) * groups
    r = [d.some(1, 2, 3, 3, 3, 5, 7) for _ in range(rank)]
    step = [d.some(1, 1, 2, 3) for _ in range(rank)]
    wide = [d.some(1, 1, 1, 2) for _ in range(rank)]
    pad = [d.r.randint(0, q * w // 2 + 1) for q, w in zip(r, wide)]
    most = {1: 2048, 2: 80, 3: 20}[rank]
    x = [d.size(most) + (q - 1) * w + 1 for q, w in zip(r, wide)]
    if d.yes():    # of an even size itself, and the result's is its own
        x = [max(d.size(most), (q - 1) * w + 1) for q, w in zip(r, wide)]
        pad = [(q - 1) * w // 2 for q, w in zip(r, wide)]
    out = [(n + 2 * p - w * (q - 1) - 1) // s + 1
           for n, p, w, q, s in zip(x, pad, wide, r, step)]
    n = d.size(17)
    last = d.yes(0.5)
    if rank == 2 and groups == 1 and d.yes(0.15):
        d.give("x", n, c, *x)
        d.give("w", c, k, *r, kind="param")
        d.put("z = conv_transpose2d(x, w, stride = %d, pad = %d);", step[0],
              min(pad[0], (min(r) - 1) // 2))
        p = min(pad[0], (min(r) - 1) // 2)
        out = [(a - 1) * step[0] - 2 * p + q for a, q in zip(x, r)]
        d.total([n, c, k] + x, r[0] * r[1])
        d.finish("z", [n, k] + out)
        return "conv"
    perm = list(range(rank + 2))
    if last:
        d.give("x0", n, *x, c)
        d.put("x = transpose(x0, perm = [0, %d, %s]);", rank + 1,
              ", ".join(map(str, range(1, rank + 1))))
    else:
        d.give("x", n, c, *x)
    d.give("w", k, c // groups, *r, kind=d.some("param", "param", "input"))
    lists = [v[0] if rank == 1 else "[%s]" % ", ".join(map(str, v))
             for v in (step, pad, wide)]
    d.put("z%s = conv%dd(x, w, stride = %s, pad = %s, dilation = %s, "
          "groups = %d);", "1" if last else "", rank, *lists, groups)
    dims = [n, k] + out
    if last:
        d.put("z = transpose(z1, perm = [0, %s, 1]);",
              ", ".join(map(str, range(2, rank + 2))))
        dims = [n] + out + [k]
    d.total([n, k, c // groups] + out, math.prod(r))
    d.finish("z", dims)
    return "conv"


def attention(d):
    if d.type == "f32" and d.yes(0.7):
        d.type = "f16"
    group, kv = d.some(1, 1, 2, 3, 4), d.some(1, 2, 3, 4)
    heads = group * kv
    b, n = d.size(5), d.size(1400)
    m = d.some(n, n, 1, d.size(16), d.size(1400))
    e = d.some(8, 16, 24, 32, 40, 64, 64, 64, 72, 80, 96, 128, 128, 33)
    f = e if d.yes(0.8) else d.some(16, 64, 72, 128)
    order = d.some("bhid", "bihd")
    dims = dict(b=b, h=heads, i=m, d=e)
    d.give("q", *[dims[a] for a in order])
    q = "q[%s]" % ", ".join(order)
    kdims, vdims = dict(b=b, h=kv, i=n, d=e), dict(b=b, h=kv, i=n, d=f)
    korder = d.some(order, order, "bhid", "bhdi")
    name = dict(b="b", h="h" if group == 1 else "h / %d" % group, i="j", d="d")
    d.give("k", *[kdims[a] for a in korder])
    d.give("v", *[vdims[a] for a in order])
    k = "k[%s]" % ", ".join(name[a] for a in korder)
    name["d"] = "e"
    v = "v[%s]" % ", ".join(name[a] for a in order)
    s = "%s * sum(d) %s * %s" % (d.some("0.125", "0.07", "0.3"), q, k)
    if d.yes(0.2):
        s = "20 * tanh((%s) * 0.05)" % s
    if d.yes(0.2):
        d.give("mask", m, n)
        s = "(%s) + mask[i, j]" % s
    if d.yes(0.15):
        d.give("slope", heads, type="f32")
        s = "(%s) - slope[h] * 0.02 * (i - j)" % s
    gap = n - m
    how = d.r.randrange(7)
    if how == 0 and gap >= 0:
        s = "j > i + %d ? -inf : %s" % (gap, s)
    elif how == 1 and gap >= 0:
        s = "j > i + %d || i + %d - j >= %d ? -inf : %s" % (
            gap, gap, d.size(300), s)
    elif how == 2:
        d.give("seen", b, type="i32", within=(1, n + 1))
        s = "j < seen[b] ? %s : -inf" % s
    elif how == 3 and gap >= 0:
        d.give("pos", b, type="i32", within=(0, max(gap, 1)))
        s = "j > i + pos[b] ? -inf : %s" % s
    d.put("s[b, h in 0..%d, i, j] : f32 = %s;", heads, s)
    d.put("p%s = softmax(s);", d.some(" : " + d.type, " : " + d.type, ""))
    out = order.replace("d", "e")
    d.put("z[%s] = sum(j) p[b, h, i, j] * %s;", ", ".join(
        "%s in 0..%d" % (a, dict(b=b, h=heads, i=m, e=f)[a]) for a in out), v)
    d.total([b, heads, m, n], e + f)
    if d.yes(0.3):
        w = d.size(256)
        d.give("w", w, heads, f, kind="param")
        d.put("output o[b, i, c] = sum(h, e) z[%s] * w[c, h, e];",
              ", ".join(out))
        d.total([b, m, w], heads * f)
    else:
        d.put("output z;")
    return "attention"


def norms(d):
    rows, n = [d.size(64), d.size(300)], d.size(5000)
    how = d.r.randrange(8)
    d.total(rows, 8 * n)
    if how < 3:
        d.give("x", *rows, n)
        d.give("g", n, kind="param")
        d.put("h = %s;", ["layer_norm(x, g)", "rms_norm(x, g)",
                          "layer_norm(x * 2 + 1, g, g)"][how])
        if d.yes(0.5):
            w = d.size(700)
            d.give("w", w, n, kind="param")
            d.put("output y = %s;", d.on("linear(h, w)"))
            d.total(rows, n * w)
        else:
            d.put("output y = %s;", d.on("h"))
    elif how < 5:
        c, g = d.some(4, 6, 24, 32, 60, 96), d.some(1, 2, 3)
        hw = [d.size(65), d.size(65)]
        c -= c % g
        d.give("x", 3, c, *hw)
        d.give("g", c, kind="param")
        d.put("output y = %s;", d.some(
            "silu(group_norm(x, g, g, groups = %d))" % g, "instance_norm(x)",
            "relu(batch_norm(x, g, g, g, abs(g)))",
            "group_norm(x, groups = %d)" % g))
        d.total([3, c] + hw, 8)
    else:
        dims = [d.size(300), d.size(130), d.size(130)][:d.some(1, 2, 3, 3)]
        axis = d.r.randrange(len(dims))
        d.give("x", *dims)
        d.put("h = %s(x * 3, axis = %d);", d.some("softmax", "log_softmax"),
              axis)
        d.put("output y = h;")
        if d.yes(0.4):
            d.put("output v = variance(h, axis = %d);", axis)
        d.total(dims, 8)
    return "rows"


def pools(d):
    n, c, x = d.size(9), d.size(130), [d.size(80) + 6, d.size(80) + 6]
    r, s = [d.some(1, 2, 3, 5), d.some(2, 3)], d.some(1, 2, 3)
    d.give("x", n, c, *x)
    pad = d.some(0, 0, min(r) // 2)
    d.put("output y = %s;", d.on(d.some(
        "max_pool(x, kernel = [%d, %d], stride = %d, pad = %d)" % (*r, s, pad),
        "avg_pool(x, kernel = [%d, %d], stride = %d, pad = %d)" % (*r, s, pad),
        "avg_pool(x, kernel = [%d, %d], stride = %d, pad = %d, "
        "count_include_pad = false)" % (*r, s, pad),
        "upsample(x, scale = [%d, %d])" % (d.some(1, 2, 3), d.some(2, 3)),
        "upsample(x, scale = 2, mode = \"bilinear\")", "global_avg_pool(x)")))
    d.total([n, c] + x, 12)
    return "rows"


def views(d):
    rank = d.some(2, 3, 3, 4)
    dims = [d.size({2: 2000, 3: 140, 4: 40}[rank]) for _ in range(rank)]
    d.give("x", *dims)
    name = "x"
    for i in range(d.r.randint(1, 4)):
        how, a = d.r.randrange(8), d.r.randrange(rank)
        at = list("ijkl"[:rank])
        new = "t%d" % i
        if how == 0:
            order = list(range(rank))
            d.r.shuffle(order)
            d.put("%s = transpose(%s, perm = %s);", new, name, order)
            dims = [dims[p] for p in order]
        elif how == 1:
            d.put("%s = concat(%s, %s, axis = %d);", new, name,
                  d.on(name), a)
            dims[a] *= 2
        elif how == 2:
            off = d.some(0, 1, 2)
            d.put("%s = pad(%s, axis = %d, before = %d, after = %d, "
                  "value = 0.5);", new, name, a, off, 2)
            dims[a] += off + 2
        elif how == 3 and dims[a] > 2:
            d.put("%s = slice(%s, axis = %d, first = 1, step = %d);", new, name,
                  a, 2)
            dims[a] = (dims[a] - 1 + 1) // 2
        elif how == 4:
            at[a] = "%d - %s" % (dims[a] - 1, at[a])
            d.put("%s[%s] = %s[%s];", new, ", ".join(
                "%s in 0..%d" % z for z in zip("ijkl", dims)), name,
                ", ".join(at))
        elif how == 5:
            d.give("b%d" % i, *dims[a:])
            d.put("%s = %s + b%d;", new, d.on(name), i)
        elif how == 6:
            at[a] = "(%s + %d) %% %d" % (at[a], d.size(9), dims[a])
            d.put("%s[%s] = %s[%s] - %s[%s];", new, ", ".join(
                "%s in 0..%d" % z for z in zip("ijkl", dims)), name,
                ", ".join(at), name, ", ".join("ijkl"[:rank]))
        else:
            d.put("%s = %s;", new, d.on("(%s)" % d.on(name)))
        d.total(dims, 2)
        name = new
    if d.yes(0.3):
        d.put("%sr = reshape(%s, shape = [%d, -1]);", name, name,
              d.some(dims[0], dims[-1], 1))
        name += "r"
    d.put("output y = %s;", d.on(name))
    return "map"


def reductions(d):
    rank = d.some(1, 2, 3, 3, 4)
    dims = [d.size({1: 5000, 2: 2100, 3: 200, 4: 50}[rank])
            for _ in range(rank)]
    at = list("ijkl"[:rank])
    d.give("x", *dims)
    over = [a for a in at if d.yes()] or [at[-1]]
    rest = [a for a in at if a not in over]
    d.r.shuffle(rest)
    d.total(dims, 4)
    for i in range(d.r.randint(1, 2)):
        op = d.some("sum", "sum", "mean", "max", "min", "argmax")
        if op == "argmax" and len(over) > 1:
            op = "max"
        e = "x[%s]" % ", ".join(at)
        if op != "argmax":
            e = d.some(e, "f32(%s) * %s" % (e, e), "(%s)" % d.on(e),
                       "(%s > 0 ? %s : 0)" % (e, e))
        if op in ("max", "min"):
            e = "(%s)" % e
        d.put("r%d[%s]%s = %s(%s) %s;", i, ", ".join(rest),
              " : f32" if op in ("sum", "mean") and d.yes() else "", op,
              ", ".join(over), e)
        d.put("output y%d = r%d * 1;", i, i)
    if d.yes(0.4):
        d.put("output z[%s] = x[%s] - r0[%s];", ", ".join(at), ", ".join(at),
              ", ".join(rest)) if rest else d.put("output z = x - r0;")
    if d.yes(0.25):
        a = at[d.r.randrange(rank)]
        inner = ["%s" % (b if b != a else "q") for b in at]
        d.put("output c[%s] : f32 = sum(q in 0..%s + 1) x[%s];", ", ".join(
            "%s in 0..%d" % z for z in zip(at, dims)), a, ", ".join(inner))
        d.terms += math.prod(dims) * dims[at.index(a)]
    return "rows"


def state(d):
    b, n, w = d.size(20), d.size(600), d.size(600)
    d.states = 1
    d.give("x", b, n)
    d.give("w", w, n, kind="param")
    d.put("state h : f32[%d, %d];", b, w)
    how = d.r.randrange(3)
    if how == 0:
        d.give("u", w, w, kind="param")
        d.put("h[i, j] = tanh((sum(k) x[i, k] * w[j, k]) * 0.1 + "
              "sum(k) h[i, k] * u[j, k] * 0.01);")
        d.total([b, w], w + n)
    elif how == 1:
        d.put("h[i, j] = 0.5 * h[i, j] + sum(k) x[i, k] * w[j, k];")
        d.total([b, w], n)
    else:
        d.give("pos", b, type="i32", within=(0, w))
        d.put("h[i, pos[i]] = x[i, 0];")
        d.put("h[i, j] = h[i, j] * 0.9 + sum(k) x[i, k] * w[j, k] * 0.1;")
        d.total([b, w], n + b)
    d.put("output y = softmax(h);")
    return "product"


def lookups(d):
    v, e, b, s = d.size(2000), d.size(800), d.size(40), d.size(120)
    d.give("table", v, e, kind="param")
    d.give("ids", b, s, type="i32", within=(0, v))
    d.put("h = embedding(ids, table);")
    how = d.r.randrange(5)
    d.total([b, s, e], 4)
    if how == 0:
        d.put("output y[b, d] = sum(k) h[b, k, d];")
    elif how == 1:
        d.give("g", e, kind="param")
        d.put("output y = layer_norm(h, g);")
    elif how == 2:
        w = d.size(400)
        d.give("w", w, e, kind="param")
        d.put("output y = gelu(linear(h, w));")
        d.total([b, s, w], e)
    elif how == 3:
        k = d.size(64)
        d.put("t : f32[%d, %d] = 0;", k, e)
        d.put("t[ids[b, s] %% %d, d] += h[b, s, d];" % k)
        d.put("output y = t;")
        d.total([k, b, s, e])
    else:
        k = d.size(64)
        d.put("t : i32[%d] = 0;", k)
        d.put("t[min(ids[b, s], %d)] += 1;" % (k - 1))
        d.put("output y = t;\n  output z = h * 2;")
        d.total([k, b, s])
    return "map"


def rule(d):
    d.put("for v in params { v = %s; }", d.some(
        "v - 0.01 * grad(loss, v)", "adamw(v, grad(loss, v), 0.001) "
        "as \"a.{v}\"", "sgd(v, grad(loss, v), 0.01, momentum = 0.9) "
        "as \"s.{v}\""))
    d.put("output loss;")
    d.states = 1
    return "training"


def mlp_step(d):
    b, n, h, c = d.size(300), d.size(500), d.size(500), d.size(65, 2)
    d.give("x", b, n)
    d.give("t", b, type="i32", within=(0, c))
    d.give("w", h, n, kind="param")
    d.give("u", c, h, kind="param")
    d.give("g", h, kind="param")
    d.put("h = %s;", d.some("gelu(layer_norm(linear(x, w), g))",
                            "relu(linear(x, w, g))",
                            "silu(rms_norm(linear(x, w), g))"))
    d.put("loss = cross_entropy(linear(h, u), t);")
    d.total([b, h], 3 * n + 3 * c)
    return rule(d)


def conv_step(d):
    b, c, k = d.size(9), d.some(1, 3, 8, 16, 24), d.some(4, 8, 16, 40)
    x, r, s = [d.size(33) + 4, d.size(33) + 4], d.some(1, 3, 5), d.some(1, 2)
    d.give("x", b, c, *x)
    d.give("t", b, type="i32", within=(0, 10))
    d.give("w", k, c, r, r, kind="param")
    d.give("u", k, k, 3, 3, kind="param")
    d.give("o", 10, k, kind="param")
    d.put("h = relu(conv2d(x, w, stride = %d, pad = %d));", s, r // 2)
    d.put("h = %s;", d.some("relu(conv2d(h, u, pad = 1) + h)",
                            "silu(instance_norm(conv2d(h, u, pad = 1)))",
                            "conv2d(h, u, pad = 1)"))
    d.put("loss = cross_entropy(linear(global_avg_pool(h), o), t);")
    d.total([b, k] + x, 3 * (c * r * r + 9 * k))
    return rule(d)


def block_step(d):
    b, n, h, e = d.size(5), d.size(130), d.some(1, 2, 4), d.some(8, 16, 32, 64)
    w = h * e
    d.give("x", b, n, w)
    for name in "qkvo":
        d.give("w" + name, w, w, kind="param")
    d.give("g", w, kind="param")
    d.put("l = %s(x, g);", d.some("layer_norm", "rms_norm"))
    for name in "qkv":
        d.put("%s1 = linear(l, w%s);", name, name)
        d.put("%s2[b, h in 0..%d, i, d in 0..%d] = %s1[b, i, h * %d + d];",
              name, h, e, name, e)
    d.put("a = attention(q2, k2, v2, causal = %s);", d.some("true", "false"))
    d.put("c[b, i, d in 0..%d] = a[b, d / %d, i, d %% %d];" % (w, e, e))
    d.put("y = x + linear(c, wo);")
    d.total([b, n, w], 12 * w + 6 * n)
    if d.yes():
        d.put("output y;")
        return "attention"
    d.put("loss = mse(y, x * 0.5);")
    return rule(d)


def pair(d):
    """Products one behind the other."""
    b, n, h, c = d.size(2048), d.size(500), d.size(1000), d.size(500)
    d.give("x", b, n)
    d.give("w", h, n, kind="param")
    d.give("u", c, h, kind="param")
    d.give("g", h, kind="param")
    d.put("h = %s;", d.on("linear(x, w, g)"))
    d.put("output y = %s;", d.some("linear(h, u)", "linear(h, u) * 2 + 1",
                                   "softmax(linear(h, u))", "linear(h * h, u)"))
    d.total([b, h], n + c)
    return "product"


KINDS = {f.__name__: f for f in (
    product, integers, conv, attention, norms, pools, views, reductions, state,
    lookups, mlp_step, conv_step, block_step, pair)}
WEIGHT = {"product": 6, "conv": 6, "attention": 5, "norms": 2, "reductions": 2}


def draw(o, number):
    """A model of not too many terms, and what dcc is told of its plans."""
    rng = random.Random("%s %d" % (o.seed, number))
    names = o.kinds.split(",") if o.kinds else [
        k for k in sorted(KINDS) for _ in range(WEIGHT.get(k, 1))]
    most = o.most * rng.choice([0.001, 0.01, 0.1, 0.1, 1])
    while True:
        d = Draw(number, rng.choice(names), rng)
        if d.terms <= most and d.bytes <= o.bytes:
            break
    plans = [[], ["--random-plan=%d" % rng.randint(1, 10**6)]]
    if rng.random() < 0.6:
        plans[1].append("--variant=%s=any" % rng.choice(FAMILIES[d.family]))
    how = rng.choice(["exact", "tf32", "3xtf32"])
    if "f32" in d.text() and how != "exact":
        plans = [p + ["--math=" + how] for p in plans]
    if o.target:
        plans = [p + ["--target=" + o.target] for p in plans]
    return d, plans
