"""Attention for bench.py: shapes, their texts, the value in double, rivals.

A shape is at.f16.b4h32g8m2048j2048d128c1w0: batch, heads, heads of k and v,
queries, keys, width, causal, and a window of so many keys (0: none). Other
kinds than `at` change scores as flex_attention's users do: relbias (a table by
distance), alibi, cap (50 tanh(s / 50)), doc (documents that data gives).
x is q [b, h, m, d], w has k and v [2, b, g, j, d], b what the kind reads.
"""
import math
import random
import re

KINDS = ("at", "relbias", "alibi", "cap", "doc")
DOCUMENTS = 7       # of a row, of unequal lengths

# batch, heads, length, width, causal: what libraries are measured by
KNOWN = [(1, 12, 128, 64, 0), (8, 12, 512, 64, 0), (1, 12, 1024, 64, 1),
         (4, 32, 2048, 128, 1), (4, 32, 4096, 128, 0), (2, 32, 8192, 128, 1),
         (32, 12, 197, 64, 0)]
# batch, heads, heads of k and v, queries, keys, width
DECODE = [(1, 12, 12, 1, 1024, 64), (8, 12, 12, 1, 1024, 64),
          (1, 32, 8, 1, 4096, 128), (8, 32, 8, 1, 8192, 128),
          (4, 32, 8, 4, 8192, 128), (1, 32, 8, 16, 16384, 128),
          (1, 8, 8, 16, 8192, 64), (1, 64, 8, 1, 65536, 128),
          (32, 32, 8, 1, 2048, 128)]
FLEX = [("relbias", 4, 16, 2048, 64), ("alibi", 4, 16, 2048, 128),
        ("cap", 2, 16, 4096, 128), ("doc", 2, 16, 8192, 64)]


def name(b, h, g, m, j, d, causal=0, window=0, kind="at"):
    return f"{kind}.f16.b{b}h{h}g{g}m{m}j{j}d{d}c{causal}w{window}"


def known():
    return [name(b, h, h, s, s, d, c) for b, h, s, d, c in KNOWN]


def decode():
    return [name(*s) for s in DECODE]


def flex():
    return [name(b, h, h, s, s, d, int(kind in ("alibi", "cap")), kind=kind)
            for kind, b, h, s, d in FLEX]


def drawn(seed):
    """8 that nobody tuned for: ragged lengths, grouped heads, windows; half of
    them over 50 GFLOP."""
    r = random.Random("attention " + seed)
    found = []
    while len(found) < 8:
        large = len(found) % 2
        d = r.choice([40, 64, 72, 80, 96, 112, 128, 160, 192, 256])
        s = r.randrange(2000, 6000) if large else r.randrange(100, 1500)
        g = r.choice([1, 2, 4, 8, 16])
        h = g * r.choice([1, 1, 2, 4, 8])
        b = r.choice([1, 2, 4, 8])
        c = r.choice([0, 1])
        w = r.randrange(s // 8, s // 2) if c and len(found) % 4 > 1 else 0
        n = name(b, h, g, s, s, d, c, w)
        if h <= 64 and (fields(n)["flops"] > 50e9) == bool(large) and \
                b * h * s * d < 1 << 27:
            found.append(n)
    return found


def fields(full):
    """The numbers of a name, by letter, with the flops of what is live."""
    f = {k: int(v) for k, v in re.findall(r"([bhgmjdcw])(\d+)",
                                          full.split(".")[2])}
    m, j = f["m"], f["j"]
    live = m * j
    if f["c"]:
        live = sum(min(i + 1, f["w"] or i + 1) for i in range(m))
    f["flops"] = 4 * f["b"] * f["h"] * live * f["d"]
    return f


def extra(kind, f):
    """How many numbers the kind reads besides q, k and v."""
    return {"relbias": f["h"] * (2 * f["m"] - 1), "alibi": f["h"],
            "doc": f["m"]}.get(kind, 1)


def dcl(kind, f):
    b, h, g, m, j, d = (f[c] for c in "bhgmjd")
    score = (f"{1 / math.sqrt(d)!r} * sum(d) x[n, h, i, d] "
             f"* w[0, n, h / {h // g}, j, d]")
    live = []
    if f["c"]:
        live.append("j <= i")
    if f["w"]:
        live.append(f"i - j < {f['w']}")
    if kind == "doc":
        live.append("b[i] == b[j]")
    score = {"relbias": f"({score}) + b[h * {2 * m - 1} + j - i + {m - 1}]",
             "alibi": f"({score}) - b[h] * (i - j)",
             "cap": f"50 * tanh(({score}) * 0.02)"}.get(kind, score)
    if live:
        score = f"{' && '.join(live)} ? {score} : -inf"
    read = "" if kind in ("at", "cap") else \
        f"  input b : f16[{extra(kind, f)}];\n"
    return (f"model bench {{\n  input x : f16[{b}, {h}, {m}, {d}];\n"
            f"  input w : f16[2, {b}, {g}, {j}, {d}];\n{read}"
            f"  s[n in 0..{b}, h in 0..{h}, i in 0..{m}, j in 0..{j}] : f32 =\n"
            f"      {score};\n  p : f16 = softmax(s);\n"
            f"  output y[n, h, i, e] = sum(j) p[n, h, i, j]"
            f" * w[1, n, h / {h // g}, j, e];\n}}\n")


def prepare(torch, kind, b):
    """What the kind reads is no noise: slopes, documents."""
    n = b.numel()
    if kind == "alibi":
        b.copy_(2.0 ** (-8.0 * torch.arange(1, n + 1, device=b.device) / n))
    if kind == "doc":
        at = torch.arange(n, device=b.device) / n
        b.copy_((at.sqrt() * DOCUMENTS).floor())


def mask_of(torch, kind, f, b, device):
    """bool [m, j] of what is live, or None."""
    i = torch.arange(f["m"], device=device)[:, None]
    j = torch.arange(f["j"], device=device)[None, :]
    live = None
    if f["c"]:
        live = j <= i
    if f["w"]:
        live = live & (i - j < f["w"])
    if kind == "doc":
        live = b[:, None] == b[None, :]
    return live


def reference(torch, kind, f, x, w, b):
    """In double, head by head."""
    y = torch.empty_like(x)
    live = mask_of(torch, kind, f, b, x.device)
    i = torch.arange(f["m"], device=x.device)[:, None]
    j = torch.arange(f["j"], device=x.device)[None, :]
    for n in range(f["b"]):
        for h in range(f["h"]):
            g = h // (f["h"] // f["g"])
            s = x[n, h] @ w[0, n, g].T / math.sqrt(f["d"])
            if kind == "relbias":
                s = s + b[h * (2 * f["m"] - 1) + j - i + f["m"] - 1]
            elif kind == "alibi":
                s = s - b[h] * (i - j)
            elif kind == "cap":
                s = 50 * torch.tanh(s / 50)
            if live is not None:
                s = s.masked_fill(~live, -math.inf)
            y[n, h] = torch.softmax(s, -1) @ w[1, n, g]
    return y


def flex_call(torch, kind, f, data):
    """flex_attention, compiled; blocks that are masked are found before."""
    from torch.nn.attention.flex_attention import (create_block_mask,
                                                   flex_attention)
    ids, m = data.b[0], f["m"]

    def live(n, h, i, j):
        ok = j <= i if f["c"] else i == i
        if f["w"]:
            ok = ok & (i - j < f["w"])
        return ok & (ids[i] == ids[j]) if kind == "doc" else ok
    block = None
    if f["c"] or f["w"] or kind == "doc":
        block = create_block_mask(live, None, None, f["m"], f["j"],
                                  device=ids.device)

    def attend(x, w, b):
        table = b.view(f["h"], -1) if kind == "relbias" else None

        def score(s, n, h, i, j):
            if kind == "relbias":
                return s + table[h, j - i + m - 1]
            if kind == "alibi":
                return s - b[h] * (i - j)
            return 50 * torch.tanh(s / 50) if kind == "cap" else s
        return flex_attention(x, w[0], w[1], block_mask=block,
                              score_mod=None if kind in ("at", "doc")
                              else score, enable_gqa=f["g"] < f["h"])
    made = torch.compile(attend, dynamic=False)
    return lambda x, w, b, y, k: made(x, w, b)


def calls(torch, kind, f, data):
    """The rivals by name: SDPA's backends where nothing but a window changes
    the scores, else flex_attention."""
    fn = torch.nn.functional.scaled_dot_product_attention
    masked = f["w"] or kind == "doc"
    mask = mask_of(torch, kind, f, data.b[0], data.b[0].device) \
        if masked else None
    group = {"enable_gqa": True} if f["g"] < f["h"] else {}

    def sdpa(backend):
        def call(x, w, b, y, k):
            with torch.nn.attention.sdpa_kernel(backend):
                return fn(x, w[0], w[1], attn_mask=mask,
                          is_causal=bool(f["c"]) and not masked, **group)
        return call
    found = {}
    if kind in ("at", "doc"):
        names = ["FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION"]
        if masked:
            names = names[1:]
        if not data.machine.real:
            names = ["MATH"]
        for n in names:
            found["SDPA " + n.split("_")[0].lower()] = sdpa(
                getattr(torch.nn.attention.SDPBackend, n))
    if data.machine.real and (masked or kind != "at"):
        found["flex_attention"] = flex_call(torch, kind, f, data)
    if not found:  # a CPU has no kernels for it
        found["PyTorch"] = lambda x, w, b, y, k: reference(
            torch, kind, f, x.float(), w.float(), b.float()).half()
    return found
