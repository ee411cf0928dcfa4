"""What bench.py measures: shapes, their .dcl texts, and the table's rows."""
import math
import re

import attention
import holdout

BIG = [(4096, 4096, 4096), (8192, 8192, 8192), (4096, 14336, 4096),
       (4096, 4096, 14336)]
MIDDLE = [(2048, 2048, 2048), (1024, 1024, 1024), (512, 512, 512),
          (1024, 768, 768), (1024, 3072, 768), (1024, 768, 3072),
          (4096, 768, 768), (4096, 3072, 768), (4096, 768, 3072)]
FEW = [(128, 768, 768), (128, 3072, 768), (128, 768, 3072)]
SKINNY = [(1, 4096, 4096), (16, 4096, 4096), (64, 8192, 8192)]
F32_BIG = [(2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192)]
F32_SMALL = [(1024, 1024, 1024), (512, 512, 512), (128, 768, 768)]
# channels, size, filters, window, stride, padding
CONVS = [(64, 56, 64, 3, 1, 1), (128, 28, 128, 3, 1, 1),
         (256, 14, 256, 3, 1, 1), (512, 7, 512, 3, 1, 1),
         (3, 224, 64, 7, 2, 3), (256, 56, 64, 1, 1, 0),
         (64, 56, 256, 1, 1, 0), (1024, 14, 256, 1, 1, 0),
         (512, 7, 2048, 1, 1, 0)]
# batch, channels, size, stride: inputs of 16 MB and more
DEPTHWISE = [(32, 32, 112, 1), (32, 96, 112, 2), (32, 144, 56, 1),
             (64, 192, 28, 1), (128, 384, 14, 1)]
# channels, size, filters, window (transposed, stride 2), padding
UPS = [(512, 32, 256, 2, 0), (256, 64, 128, 2, 0), (128, 128, 64, 2, 0),
       (512, 8, 256, 4, 1), (256, 16, 128, 4, 1), (128, 32, 64, 4, 1)]
# data gradients, stride 2: channels, size, filters, window
HALVED = [(64, 56, 128, 3), (128, 28, 256, 3), (256, 14, 512, 3),
          (128, 56, 128, 3), (256, 56, 512, 1), (512, 28, 1024, 1),
          (1024, 14, 2048, 1)]
ROWS = [(8192, 768), (8192, 4096), (4096, 16384), (65536, 1024)]
STATS = [(401408, 64), (100352, 512), (25088, 1024)]    # pixels, channels
LONG, SHORT = "d128", "d64"     # attention over 100 GFLOP, and the others
READ_GBS = 4480     # what the GPU reads at most; skinny products aim at it

CONV_TEXT = """op conv(x: T[N, H, W, C], w: T[K, R, S, C], b: T[K];
    stride = 1, pad = 0)
    -> y: T[N, (H + 2 * pad - R) / stride + 1,
        (W + 2 * pad - S) / stride + 1, K] {
  y[n, p, q, k] = sum(r, s, c)
      (x[n, p * stride + r - pad, q * stride + s - pad, c] or 0)
      * w[k, r, s, c] + b[k];
}
"""
# The forward pass's data and weights, and what the loss weighs its result by,
# as the bench has them; b is what the gradient is of: its values do not count.
GRADIENTS = {"wg": ("x", "b", "w"), "dg": ("b", "w", "x"),
             "wm": ("x", "b", "w")}
LOSS_TEXT = {
    "conv": "  z = conv({0}, {1}, stride = {stride}, pad = {pad});\n"
            "  loss[] : f32 = sum(n, p, q, k) z[n, p, q, k] * {2}[n, p, q, k];\n"
            "  g = grad(loss, b);\n"
            "  output y[i, j, k, l] : f16 = g[i, j, k, l];\n",
    "gemm": "  z[i, j] = sum(k) {0}[i, k] * {1}[j, k];\n"
            "  loss[] : f32 = sum(i, j) z[i, j] * {2}[i, j];\n"
            "  g = grad(loss, b);\n  output y[i, j] : f16 = g[i, j];\n"}
DEPTHWISE_TEXT = """op depthwise(x: T[N, H, W, C], w: T[R, S, C], b: T[C];
    stride = 1, pad = 0)
    -> y: T[N, (H + 2 * pad - R) / stride + 1,
        (W + 2 * pad - S) / stride + 1, C] {
  y[n, p, q, c] = sum(r, s)
      (x[n, p * stride + r - pad, q * stride + s - pad, c] or 0)
      * w[r, s, c] + b[c];
}
"""
UP_TEXT = """op up(x: T[N, H, W, C], w: T[K, R, S, C]; stride = 1, pad = 0)
    -> y: T[N, (H - 1) * stride - 2 * pad + R,
        (W - 1) * stride - 2 * pad + S, K] {
  y[n, p, q, k] = sum(r, s, c)
      ((p + pad - r) % stride == 0 && (q + pad - s) % stride == 0
          ? x[n, (p + pad - r) / stride, (q + pad - s) / stride, c] or 0 : 0)
      * w[k, r, s, c];
}
"""
# x [m, n]; w and b as the kind has them
ROW_TEXT = {
    "softmax": "  output y = softmax(x);\n",
    "norm": "  output y = layer_norm(x, w, b);\n",
    "rms": "  output y = rms_norm(x + w, b);\n",
    "stats": "  m[c] : f32 = mean(i) x[i, c];\n"
             "  y[0, c] : f16 = m[c];\n"
             "  y[1, c] = mean(i) (x[i, c] - m[c]) * (x[i, c] - m[c]);\n"
             "  output y;\n"}


class Shape:
    """A problem. kind: gemm (y = x w^T), gelu (+ bias, exact gelu), conv
    (+ bias, relu; channels last), dw (depthwise, the same), up (transposed,
    channels last, nothing after it); wg, dg (gradients of a convolution: of its
    weights, of its data), wm (of gemm's w), all of the forward pass's sizes;
    softmax, norm (of layers), rms (of x + w) along rows, stats (mean and
    variance of columns); attention's are attention.py's. type: f16, f32. math:
    dcc's --math. Sizes in elements."""

    def __init__(self, name):
        self.name = name
        self.kind, self.math, rest = name.split(".")
        self.type = "f16" if self.math == "f16" else "f32"
        if self.math == "f32":
            self.math = "exact"
        if self.kind in attention.KINDS:
            self.at = attention.fields(name)
            b, h, g, m, j, d = (self.at[c] for c in "bhgmjd")
            self.x = self.y = (b, h, m, d)
            self.w, self.b = (2, b, g, j, d), attention.extra(self.kind,
                                                              self.at)
        elif self.kind in ROW_TEXT:
            m, n = (int(v) for v in rest.split("x"))
            self.x, self.y, self.b = (m, n), (m, n), n
            self.w = (m, n) if self.kind == "rms" else (n,)
            if self.kind == "stats":
                self.y = (2, n)
        elif self.kind in ("gemm", "gelu", "wm"):
            self.m, self.n, self.k = (int(v) for v in rest.split("x"))
            self.x, self.w = (self.m, self.k), (self.n, self.k)
            self.y, self.b = (self.m, self.n), self.n
        else:
            self._window(dict((c, int(v)) for c, v in
                              re.findall(r"([a-z])(\d+)", rest)))
        if self.kind in GRADIENTS:
            self._turn()

    def _window(self, v):
        n, c, h, r, s = v["n"], v["c"], v["h"], v["r"], v["s"]
        self.stride, self.window = s, r
        self.pad = v.get("p", r // 2)
        p = (h + 2 * self.pad - r) // s + 1
        if self.kind == "up":
            p = (h - 1) * s - 2 * self.pad + r
        k = v.get("k", c)
        self.x, self.y, self.b = (n, h, h, c), (n, p, p, k), k
        self.w = (r, r, c) if self.kind == "dw" else (k, r, r, c)

    def _turn(self):
        """From a product's sizes to its gradient's: y is the gradient, x and w
        are what it is made of, b stands for what it is the gradient of."""
        if self.kind == "dg":
            self.x, self.y = self.y, self.x
        else:
            self.w, self.y = self.y, self.w
        self.b = math.prod(self.y)

    @property
    def itemsize(self):
        return 2 if self.type == "f16" else 4

    @property
    def biased(self):
        return self.kind not in ("gemm", "up", "softmax", "stats", "at", "cap",
                                 *GRADIENTS)

    @property
    def weighted(self):
        return self.kind not in ("softmax", "stats")

    @property
    def flops(self):
        """2 a multiply-add; taps on the padding count, masked scores do not."""
        if self.kind in attention.KINDS:
            return self.at["flops"]
        if self.kind in ROW_TEXT:
            return 8 * math.prod(self.x)
        if self.kind in ("wg", "dg"):
            out, taps = ((self.x, self.w) if self.kind == "dg" else
                         (self.w, self.y))
            return 2 * math.prod(out) * math.prod(taps[1:])
        if self.kind in ("gemm", "gelu", "wm"):
            return 2 * self.m * self.n * self.k
        if self.kind == "up":  # each element of x meets each tap
            return 2 * math.prod(self.x[:3]) * math.prod(self.w)
        taps = math.prod(self.w) // (self.w[0] if self.kind == "conv"
                                     else self.w[-1])
        return 2 * math.prod(self.y) * taps

    @property
    def bytes(self):
        """Each input once and the output once."""
        count = math.prod(self.x) + math.prod(self.y)
        count += math.prod(self.w) if self.weighted else 0
        return self.itemsize * (count + (self.b if self.biased else 0))

    @property
    def weight_bytes(self):
        return self.itemsize * math.prod(self.w)

    @property
    def is_product(self):
        """One matrix product to a library: m, n, k of y = x w^T."""
        if self.kind in ("gemm", "gelu"):
            return self.m, self.n, self.k
        if self.kind == "conv" and self.window == 1 and self.stride == 1:
            return math.prod(self.x[:3]), self.w[0], self.w[-1]
        return None

    @property
    def plain(self):
        """The same product without bias and gelu."""
        return self.name.replace("gelu.", "gemm.", 1)

    @property
    def packed(self):
        """Weights are always param, packed once: cuDNN's are, too."""
        return self.kind == "up"

    def dcl(self, weights="input"):
        """The model, named `bench`; weights: `input` or `param`."""
        if self.kind in attention.KINDS:
            return attention.dcl(self.kind, self.at)
        weights = "param" if self.packed else weights
        def tensor(role, name, shape):
            return f"  {role} {name} : {self.type}{list(shape)};\n"
        head = tensor("input", "x", self.x)
        if self.weighted:
            head += tensor(weights, "w", self.w)
        if self.biased:
            head += tensor(weights, "b", (self.b,))
        if self.kind in GRADIENTS:
            head += tensor("input", "b", self.y)
        op, tail = "", ""
        if self.kind == "gemm":
            tail = "  output y[i, j] = sum(k) x[i, k] * w[j, k];\n"
        elif self.kind in GRADIENTS:
            op = "" if self.kind == "wm" else CONV_TEXT.replace(", b: T[K]", "")
            op = op.replace(" + b[k]", "")
            tail = LOSS_TEXT["gemm" if self.kind == "wm" else "conv"].format(
                *GRADIENTS[self.kind], stride=getattr(self, "stride", 1),
                pad=getattr(self, "pad", 0))
        elif self.kind == "gelu":
            tail = "  output y = gelu(linear(x, w, b));\n"
        elif self.kind in ROW_TEXT:
            tail = ROW_TEXT[self.kind]
        elif self.kind == "up":
            op = UP_TEXT
            tail = (f"  output y = up(x, w, stride = {self.stride}, "
                    f"pad = {self.pad});\n")
        else:
            call = "conv" if self.kind == "conv" else "depthwise"
            op = CONV_TEXT if self.kind == "conv" else DEPTHWISE_TEXT
            tail = (f"  output y = relu({call}(x, w, b, stride = "
                    f"{self.stride}, pad = {self.pad}));\n")
        return f"{op}model bench {{\n{head}{tail}}}\n"


def gemms(sizes, math="f16", kind="gemm"):
    return [f"{kind}.{math}.{m}x{n}x{k}" for m, n, k in sizes]


def gradient_bars():
    return [Bar("geomean", "ratio", ">=", 1.1, False),
            Bar("min", "ratio", ">=", 0.9, False)]


def convs(batches=(1, 32), kind="conv"):
    return [f"{kind}.f16.n{n}c{c}h{h}k{k}r{r}s{s}" for n in batches
            for c, h, k, r, s, _ in CONVS]


# ---- what is asked of a row: a number of its shapes' results

def geomean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


class Bar:
    """`what` of the field `key` over the row's shapes must be at least (or at
    most) `limit`, tuned or else untuned. `only`: a pattern for shapes."""

    def __init__(self, what, key, sign, limit, tuned, only="."):
        self.what, self.key, self.sign, self.limit = what, key, sign, limit
        self.tuned, self.only = tuned, only

    def value(self, results):
        """None unless every shape has the number."""
        values = [r.get(self.key) for n, r in results.items()
                  if re.search(self.only, n)]
        if not values or any(not v for v in values):
            return None
        return {"geomean": geomean, "min": min, "max": max}[self.what](values)

    def met(self, value):
        return value >= self.limit if self.sign == ">=" else value <= self.limit

    @property
    def text(self):
        where = "" if self.only == "." else f" of {self.only}"
        return (f"{self.what} {self.key}{where} "
                f"{self.sign} {self.limit:g}")


def both(what, key, sign, tuned, untuned, only="."):
    return [Bar(what, key, sign, tuned, True, only),
            Bar(what, key, sign, untuned, False, only)]


class Row:
    def __init__(self, key, title, shapes, bars):
        self.key, self.title, self.shapes, self.bars = key, title, shapes, bars


def held_out(seed):
    """{class: names} of the hold-out: none that the table has."""
    return holdout.shapes(seed, {n for r in table() for n in r.shapes})


def holdout_rows(seed):
    """The hold-out's rows: what nobody tuned for, untuned."""
    drawn = held_out(seed)

    def row(key, title, *bars):
        return Row("holdout-" + key, title + ", hold-out", drawn[key],
                   [Bar(what, field, ">=", limit, False)
                    for what, field, limit in bars])
    return [
        row("gemm", "f16 products", ("geomean", "ratio", 1.08),
            ("min", "ratio", 0.93)),
        row("conv", "conv + bias + relu, f16", ("geomean", "ratio", 1.4),
            ("min", "ratio", 0.93)),
        row("dw", "depthwise, 16 MB and more",
            ("min", "of_same_copy", 0.8), ("min", "of_copy", 0.8)),
        row("f32", "f32 exact", ("geomean", "ratio", 1.03),
            ("min", "ratio", 0.95)),
        row("tf32", "tf32", ("geomean", "ratio", 1.2),
            ("min", "ratio", 0.95)),
        row("attention", "attention, f16", ("geomean", "ratio", 1.3),
            ("min", "ratio", 0.9))]


def table():
    """The rows, in order. ratio: best rival's time / dcc's; own: PyTorch's
    separate kernels / dcc's; plain: dcc's time / its plain product's; of_copy:
    bytes a second, of those of a copy of 2 GB; of_same_copy: the time of a copy
    of as many bytes in the same turns / dcc's."""
    least = 0.88 * READ_GBS, 0.80 * READ_GBS
    return [
        Row("big", "f16 products, the four large", gemms(BIG),
            both("geomean", "ratio", ">=", 0.98, 0.93) +
            [Bar("min", "ratio", ">=", 0.95, True)]),
        Row("middle", "other f16 products, M >= 512", gemms(MIDDLE),
            both("geomean", "ratio", ">=", 1.12, 1.02) +
            [Bar("min", "ratio", ">=", 0.97, True)]),
        Row("few", "128-row f16 products", gemms(FEW),
            both("geomean", "ratio", ">=", 1.10, 1.00)),
        Row("skinny", "1, 16 and 64 rows, f16", gemms(SKINNY),
            both("max", "us", "<=", 9.6, 10.5, "4096x4096") +
            both("min", "gbs", ">=", *least, "8192x8192")),
        Row("gelu", "the same with bias + gelu",
            gemms(BIG + MIDDLE + FEW + SKINNY, kind="gelu"),
            [Bar("geomean", "plain", "<=", 1.06, True),
             Bar("max", "plain", "<=", 1.15, True)]),
        Row("conv", "conv + bias + relu, f16", convs(),
            both("geomean", "ratio", ">=", 1.3, 1.15) +
            [Bar("min", "ratio", ">=", 1.0, True),
             Bar("geomean", "own", ">=", 2.2, True)]),
        Row("dw", "depthwise 3x3, 16 MB and more, f16",
            [f"dw.f16.n{n}c{c}h{h}r3s{s}" for n, c, h, s in DEPTHWISE],
            [Bar("min", "of_copy", ">=", 0.8, True)]),
        Row("up", "transposed convolutions, stride 2, f16",
            [f"up.f16.n8c{c}h{h}k{k}r{r}s2p{p}" for c, h, k, r, p in UPS],
            [Bar("geomean", "ratio", ">=", 1.1, False),
             Bar("min", "ratio", ">=", 0.95, False)]),
        Row("wg", "weight gradients of convolutions, f16",
            convs(kind="wg"), gradient_bars()),
        Row("wm", "weight gradients of products, f16",
            gemms(BIG + MIDDLE + FEW + SKINNY, kind="wm"), gradient_bars()),
        Row("dg", "data gradients, stride 2, f16",
            [f"dg.f16.n{n}c{c}h{h}k{k}r{r}s2" for n in (1, 32)
             for c, h, k, r in HALVED], gradient_bars()),
        Row("rows", "softmax, layer norm, rms norm + residual, f16",
            [f"{kind}.f16.{m}x{n}" for kind in ("softmax", "norm", "rms")
             for m, n in ROWS],
            [Bar("geomean", "own", ">=", 1.5, False),
             Bar("geomean", "ratio", ">=", 1.05, False),
             Bar("min", "of_copy", ">=", 0.9, False, "4096|16384|65536")]),
        Row("stats", "mean and variance of columns, f16",
            [f"stats.f16.{m}x{n}" for m, n in STATS],
            [Bar("min", "gbs", ">=", 0.85 * READ_GBS, False)]),
        Row("attention", "attention, f16", attention.known(),
            [Bar("geomean", "ratio", ">=", 1.0, False, LONG),
             Bar("min", "ratio", ">=", 0.9, False, LONG),
             Bar("geomean", "ratio", ">=", 1.3, False, SHORT),
             Bar("min", "ratio", ">=", 0.95, False, SHORT)]),
        Row("decode", "attention of few queries, f16", attention.decode(),
            [Bar("geomean", "ratio", ">=", 1.3, False),
             Bar("min", "gbs", ">=", 0.8 * 4270, False,
                 "j65536|j16384|b8h32|b4h32|b32h32")]),
        Row("flex", "attention with other scores, f16", attention.flex(),
            [Bar("min", "ratio", ">=", 1.0, False)]),
        Row("f32", "f32 exact", gemms(F32_BIG + F32_SMALL, "f32"),
            both("min", "ratio", ">=", 0.93, 0.9, "2048x|4096x|8192x") +
            both("geomean", "ratio", ">=", 1.2, 0.9, "1024x|512x|128x")),
        Row("3xtf32", "3xtf32 against cuBLAS f32",
            gemms(F32_SMALL[:1] + F32_BIG, "3xtf32"),
            [Bar("min", "ratio", ">=", 1.7, True),
             Bar("max", "errors", "<=", 2, True, "4096x")]),
        Row("tf32", "tf32 against cuBLAS tf32",
            gemms(F32_BIG + F32_SMALL, "tf32"),
            [Bar("geomean", "ratio", ">=", 1.0, True)]),
    ]
