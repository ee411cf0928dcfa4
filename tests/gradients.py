#!/usr/bin/env python3
"""Gradients of dcc's programs beside PyTorch's autograd in f64: every operator
of the library, programs of users' own kinds, and small networks
(gradients/cases.py). The loss is sum(y (u - 1/2)), where u is random(7, y).

    gradients.py --emit DIR [--dcc build/dcc]   writes the programs there
    gradients.py --run DIR [--gpu]              builds, runs and compares them

A gradient is right if its error in the 2-norm is at most 1e-5 (f32) or 2e-2
(f16) of its norm; one below 1e-6 of the largest, of that one's. Where f16
decides a branch, f32 alone is compared. Needs torch and numpy. --cpu (the
default) builds by runtime/emu, --gpu by nvcc."""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "gradients"))
import cases as C  # noqa: E402

FILES = 8
BOUND = {"f32": 1e-5, "f16": 2e-2}
HEAD = C.OWN_OPS + """op weighed(y: T[..], u: f32[..]) -> s: f32 { s[] = sum(..) f32(y[..]) * (u[..] - 0.5); }
"""


def inputs(case):
    """[(name, dims, kind)]"""
    out = []
    for word in case[1].split():
        part = word.split(":")
        out.append((part[0], [int(n) for n in part[1].split(",") if n],
                    part[2] if len(part) > 2 else "f"))
    return out


def program(case, kind):
    lines = ["model c_%s {" % case[0], "  type E = %s;" % kind]
    for name, dims, how in inputs(case):
        what = "i32" if how[0] == "i" else "E"
        lines.append("  input %s : %s[%s]%s;" % (
            name, what, ", ".join(map(str, dims)),
            " in 0..%s" % how[1:] if how[0] == "i" else ""))
    lines += ["  " + case[2], "  u_ = random(7, y);",
              "  loss_ = weighed(y, u_);", "  output loss_;"]
    for name, dims, how in inputs(case):
        if how[0] != "i" and name not in case[4:]:
            lines.append("  output g_%s = grad(loss_, %s);" % (name, name))
    return "\n".join(lines) + "\n}\n"


def groups(o, kind):
    """Lists of cases, one for each file."""
    every = [c for c in C.OPS + C.PROGRAMS + C.NETWORKS
             if not o.cases or c[0] in o.cases]
    if kind == "f16":
        every = [c for c in every if c[0] not in C.BENDS]
    return [every[i::FILES] for i in range(FILES)]


def emit(o):
    os.makedirs(o.emit, exist_ok=True)
    bad = 0
    for kind in o.types:
        for i, group in enumerate(groups(o, kind)):
            if not group:
                continue
            base = os.path.join(o.emit, "%s_%d" % (kind, i))
            with open(base + ".dcl", "w") as f:
                f.write(HEAD + "".join(program(c, kind) for c in group))
            r = subprocess.run([o.dcc, base + ".dcl", "-o", base + ".cu",
                                "--main"], capture_output=True, text=True)
            bad += r.returncode != 0
            if r.returncode:
                print(r.stderr[:3000])
    return bad


# ---- safetensors

def write(path, tensors):
    import numpy as np
    names = {np.dtype("f4"): "F32", np.dtype("f2"): "F16",
             np.dtype("i4"): "I32"}
    head, at, data = {}, 0, []
    for name, x in tensors.items():
        raw = np.ascontiguousarray(x).tobytes()
        head[name] = {"dtype": names[x.dtype], "shape": list(x.shape),
                      "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        data.append(raw)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + b"".join(data))


def read(path):
    import numpy as np
    types = {"F32": "f4", "F16": "f2", "I32": "i4"}
    with open(path, "rb") as f:
        raw = f.read()
    n = int.from_bytes(raw[:8], "little")
    out = {}
    for name, t in json.loads(raw[8:8 + n]).items():
        if name != "__metadata__":
            a, b = t["data_offsets"]
            out[name] = np.frombuffer(raw[8 + n + a:8 + n + b],
                                      types[t["dtype"]]).reshape(t["shape"])
    return out


# ---- what is compared

def draws(n, which, count):
    """random(n, x), as dsl/LANGUAGE.md has it."""
    import numpy as np
    u = np.uint64
    low = u(0xffffffff)
    c = [np.arange(count, dtype=u), np.full(count, n, u),
         np.zeros(count, u), np.zeros(count, u)]
    key = [which, 0]
    for _ in range(10):
        p, q = c[0] * u(0xd2511f53), c[2] * u(0xcd9e8d57)
        c = [(q >> u(32)) ^ c[1] ^ u(key[0]), q & low,
             (p >> u(32)) ^ c[3] ^ u(key[1]), p & low]
        key = [(key[0] + 0x9e3779b9) & 0xffffffff,
               (key[1] + 0xbb67ae85) & 0xffffffff]
    return (c[0] >> u(8)).astype("f8") / 2.0 ** 24


def names_for(torch):
    """What the cases' PyTorch lines may use."""
    F = torch.nn.functional

    def drop(x, n, which, p):
        u = torch.from_numpy(draws(n, which, x.numel())).reshape(x.shape)
        return torch.where(u < p, 0, x / (1 - p))

    def rotary(x):
        a = torch.arange(6.0, dtype=x.dtype)[:, None] * torch.pow(
            100.0, -torch.arange(4.0, dtype=x.dtype) / 4)
        a = torch.cat((a, a), 1)
        return x * a.cos() + torch.cat((-x[..., 4:], x[..., :4]), 2) * a.sin()

    def alibi(q, k, v):
        i = torch.arange(5, dtype=q.dtype)
        far = i[:, None] - i
        slope = torch.pow(2.0, -1 - torch.arange(2, dtype=q.dtype))
        s = q @ k.transpose(1, 2) / 8 ** 0.5 - far * slope[:, None, None]
        return s.masked_fill(far < 0, -torch.inf).softmax(-1) @ v

    def focal(z, t):
        u = z.log_softmax(1)[torch.arange(len(t)), t]
        return (-(1 - u.exp()) ** 2 * u).mean()

    def dice(z, t):
        p = torch.sigmoid(z)
        return 1 - ((2 * (p * t).sum(1) + 1) / ((p + t).sum(1) + 1)).mean()

    def lstm(x, h, c, w, u, b):
        i, f, g, o = (F.linear(x, w, b) + F.linear(h, u)).chunk(4, 1)
        d = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(d)

    def gru(x, w, u):
        h = torch.zeros(3, 6, dtype=x.dtype)
        for t in range(4):
            a, b = (F.linear(x[:, t], w).chunk(3, 1),
                    F.linear(h, u).chunk(3, 1))
            z = torch.sigmoid(a[1] + b[1])
            h = (1 - z) * torch.tanh(a[2] + torch.sigmoid(a[0] + b[0]) * b[2]
                                     ) + z * h
        return h

    def lstm_steps(x, w, u, b):
        h = torch.zeros(3, 8, dtype=x.dtype)
        c, o = torch.zeros_like(h), []
        for t in range(6):
            i, f, g, e = (F.linear(x[t], w, b) + F.linear(h, u)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(e) * torch.tanh(c)
            o.append(h)
        return torch.stack(o, 1)

    def bidirectional(x, w, u, v, z):
        a = torch.zeros(2, 9, dtype=x.dtype)
        c, p, q = torch.zeros_like(a), [], []
        for t in range(6):
            a = torch.tanh(F.linear(x[:, t], w) + F.linear(a, u))
            c = torch.tanh(F.linear(x[:, 5 - t], v) + F.linear(c, z))
            p.append(a)
            q.insert(0, c)
        return torch.cat((torch.stack(p, 1), torch.stack(q, 1)), 2)

    def triplet_hard(x, w, t):
        z = F.normalize(F.linear(x, w), dim=1)
        s = 2 - 2 * z @ z.T
        same = t[:, None] == t
        a = torch.where(same, s, -9.0).amax(1)
        return F.relu(a - torch.where(same, 9.0, s).amin(1) + 0.2)

    def surrogate(x, w, v, old, t, r):
        n = F.linear(x, w).log_softmax(1)
        a = r - x @ v
        s = a.detach()
        g = (s - s.mean()) / (s.var(correction=0) + 1e-8).sqrt()
        k = (n[torch.arange(len(t)), t] - old).exp()
        m = torch.minimum(k * g, k.clamp(0.8, 1.2) * g)
        return 0.5 * a * a - m + 0.01 * (n.exp() * n).sum(1)

    def second(x, w, t):
        a = F.mse_loss(torch.tanh(F.linear(x, w)), 0.5 * t)
        g, = torch.autograd.grad(a, x, create_graph=True)
        return (g * g).sum() * 10

    def third(x, w, b, v):
        u = F.linear(torch.tanh(F.linear(x, w, b)), v)
        g, = torch.autograd.grad(u.sum(), x, create_graph=True)
        h, = torch.autograd.grad(g.sum(), x, create_graph=True)
        return ((h + u) ** 2).mean()

    def vae(x, m, l, v, e):
        r = torch.sigmoid(F.linear(m + torch.exp(0.5 * l) * e, v))
        return ((r - x) ** 2).sum(1) - 0.05 * (1 + l - m * m - l.exp()).sum(1)

    def swin(x, w, b, t):
        q = torch.roll(x, (-2, -2), (1, 2)).unflatten(1, (2, 4))
        q = q.unflatten(3, (2, 4)).transpose(2, 3).flatten(3, 4)
        q, k, v = (h.unflatten(-1, (3, 4)).transpose(3, 4)
                   for h in F.linear(q, w, b).chunk(3, -1))
        r = torch.arange(16)
        at = ((r[:, None] // 4 - r // 4 + 3) * 7 + r[:, None] % 4 - r % 4 + 3)
        far = torch.zeros(2, 1, 1, 16, 16, dtype=x.dtype)
        far[1] = -100.0 * (r[:, None] // 8 != r // 8)
        s = q @ k.transpose(-1, -2) * 0.5 + t[at].permute(2, 0, 1) + far
        return (s.softmax(-1) @ v).transpose(3, 4).flatten(4)

    def spectral(x, w, u, b):
        a = F.normalize(w.T @ u, dim=0)
        q = F.normalize(w @ a, dim=0)
        return F.linear(x, w) / (q.detach() @ w @ a.detach()) * b

    def giou(x, z):
        a, c = x[:, :2], x[:, :2] + 0.2 + x[:, 2:]
        e, f = z[:, :2], z[:, :2] + 0.2 + z[:, 2:]
        k = (torch.minimum(c, f) - torch.maximum(a, e)).clamp(min=0).prod(1)
        g = (torch.maximum(c, f) - torch.minimum(a, e)).prod(1)
        w = (c - a).prod(1) + (f - e).prod(1) - k
        return 1 - k / w + (g - w) / g

    def top2(x, w, v):
        s = F.linear(x, w).softmax(1)
        t, k = s.topk(2, 1)
        c = torch.zeros_like(s).scatter(1, k, t / t.sum(1, True))
        o = torch.tanh(torch.einsum("bi,edi->bed", x, v))
        return (torch.einsum("be,bed->bd", c, o) +
                0.1 * (s * s).mean(1, True))

    def quantised(w):
        a = w.abs().amax(1, True)
        return (w / a * 7).round() / 7 * a

    def sinkhorn(c):
        k = (-2 * c).exp()
        a = torch.ones(6, dtype=c.dtype)
        for _ in range(2):
            b = 1 / 7 / (k.T @ a)
            a = 1 / 6 / (k @ b)
        return a[:, None] * k * b * c

    def attention_penalty(q, k, v):
        a = (q @ k.transpose(1, 2) / 8 ** 0.5).softmax(2) @ v
        g, = torch.autograd.grad((a * a).sum(), q, create_graph=True)
        return g * g + a

    def state_space(u, a, b, c, d):
        h, o = torch.zeros(2, 4, 3, dtype=u.dtype), []
        for t in range(7):
            h = (torch.exp(-d[:, t, :, None] * a) * h +
                 (d * u)[:, t, :, None] * b[:, t, None])
            o.append((h * c[:, t, None]).sum(2))
        return torch.stack(o, 1)

    def inner_step(x, t, w, z, u):
        a = F.mse_loss(F.linear(x, w), t)
        g, = torch.autograd.grad(a, w, create_graph=True)
        return F.mse_loss(torch.tanh(F.linear(z, w - 0.3 * g)), u)

    def crf(x, w):
        a = x[:, 0]
        for t in range(1, 5):
            a = (a[:, None, :] + w.T).logsumexp(2) + x[:, t]
        return a.logsumexp(1)

    def graph_attention(x, e, w, a):
        h, (i, j) = F.linear(x, w), e.T
        q = F.leaky_relu((h[i] + h[j]) @ a, 0.2).exp()
        n = torch.zeros(6, dtype=x.dtype).index_add(0, i, q)
        return torch.zeros_like(h).index_add(0, i, (q / n[i])[:, None] * h[j])

    def rays(d, c):
        a = 1 - (-0.3 * d).exp()
        t = torch.cat((torch.ones_like(a[:, :1]), (1 - a).cumprod(1)[:, :-1]), 1)
        return torch.einsum("ri,rik->rk", a * t, c)

    def norm(x, g, c):
        return F.layer_norm(x, x.shape[-1:], g, c)

    def layer(x, wq, bq, wk, bk, wv, bv, wo, bo, g, c, wi, bi, wu, bu, p, e,
              first=False, causal=False):
        def heads(w, b):
            return F.linear(n, w, b).unflatten(2, (2, -1)).transpose(1, 2)
        n = norm(x, g, c) if first else x
        o = F.scaled_dot_product_attention(heads(wq, bq), heads(wk, bk),
                                           heads(wv, bv), is_causal=causal)
        r = x + F.linear(o.transpose(1, 2).flatten(2), wo, bo)
        t = norm(r, p, e) if first else norm(r, g, c)
        y = (r if first else t) + F.linear(F.gelu(F.linear(t, wi, bi)), wu, bu)
        return y if first else norm(y, p, e)

    own = dict(locals())
    own.update(torch=torch, F=F)
    return own


def begin(own, case, x):
    """What a network's first layer is given."""
    F, torch = own["F"], own["torch"]
    if case[0] == "vit":
        q = F.conv2d(x["x"], x["wp"], x["bp"], 4).flatten(2).transpose(1, 2)
        return torch.cat((x["k"].expand(len(q), 1, -1), q), 1) + x["ws"]
    h = x["wt"][x["ids"]] + x["ws"]
    return own["norm"](h, x["ga"], x["ca"]) if case[0] == "bert_s128" else h


def drawn(case, kind, seed):
    import numpy as np
    rng = np.random.default_rng([seed, sum(map(ord, case[0]))])
    out = {}
    for name, dims, how in inputs(case):
        if how[0] == "i":
            out[name] = rng.integers(0, int(how[1:]), dims).astype("i4")
            continue
        x = rng.standard_normal(dims)
        if how in "pu":
            x = rng.uniform(0.5 if how == "p" else 0, 1.5 if how == "p" else 1,
                            dims)
        if name[0] in "wuv" and how == "f" and len(dims) > 1:
            x = x / np.sqrt(np.prod(dims[1:]))
        out[name] = x.astype("f4" if kind == "f32" else "f2")
    return out


def expected(torch, own, case, given):
    x = {k: torch.from_numpy(v).to(torch.float64 if v.dtype.kind == "f"
                                   else torch.int64) for k, v in given.items()}
    for v in x.values():
        v.requires_grad_(v.dtype == torch.float64)
    y = eval(case[3], dict(own, **x, h0=lambda: begin(own, case, x)))
    which = case[2].count("dropout(")
    r = torch.from_numpy(draws(7, which, y.numel())).reshape(y.shape) - 0.5
    loss = (y * r).sum()
    loss.backward()
    return loss.item(), {k: v.grad.numpy() for k, v in x.items()
                         if v.grad is not None}


def judge(case, kind, got, loss, want):
    """(worst error over its bound, words)"""
    import numpy as np
    most = max(np.linalg.norm(g) for g in want.values())
    worst, words = 0, ""
    for name, g in want.items():
        size = np.linalg.norm(g)
        scale = most if size < 1e-6 * most else size
        have = got["g_" + name].astype("f8")
        if have.shape != g.shape:
            return float("inf"), "%s has shape %s, not %s" % (
                name, have.shape, g.shape)
        error = np.linalg.norm(have - g) / scale if scale else \
            np.linalg.norm(have)
        if not error <= worst:
            worst, words = error, "by %s %.2g" % (name, error)
    return worst / BOUND[kind], words


# ---- running

def build_runtime(o):
    """For the GPU, once: an archive."""
    runtime = os.path.join(HERE, "..", "runtime")
    c = [os.path.abspath(os.path.join(runtime, f))
         for f in sorted(os.listdir(runtime))
         if f.endswith(".c") and f.startswith(("rt", "base", "safet"))]
    where = os.path.join(o.run, "runtime")
    os.makedirs(where, exist_ok=True)
    subprocess.run(["nvcc", "-O2", "-c", "-I", os.path.abspath(runtime)] + c,
                   cwd=where, check=True)
    subprocess.run("ar rcs libdccrt.a *.o", shell=True, cwd=where, check=True)


def build(o, base):
    runtime = os.path.join(HERE, "..", "runtime")
    if o.gpu:
        command = ["nvcc", "-std=c++17", "-gencode",
                   "arch=compute_90a,code=sm_90a", "-I", runtime, "-o",
                   base + ".exe", base + ".cu",
                   os.path.join(o.run, "runtime", "libdccrt.a")]
    else:
        command = ["sh", os.path.join(runtime, "emu", "dcc-emu-cc"), "-o",
                   base + ".exe", base + ".cu"]
    r = subprocess.run(command, capture_output=True, text=True)
    return r.returncode, (r.stdout + r.stderr)[-2000:]


def one(o, torch, own, base, case, kind):
    given = drawn(case, kind, o.seed)
    loss, want = expected(torch, own, case, given)
    write(base + ".in", given)
    r = subprocess.run([base + ".exe", "--model", "c_" + case[0], "--in",
                        base + ".in", "--out", base + ".out"],
                       capture_output=True, text=True, timeout=300)
    if r.returncode:
        return float("inf"), r.stderr[-500:]
    return judge(case, kind, read(base + ".out"), loss, want)


def run_file(o, torch, own, kind, i):
    base = os.path.join(o.run, "%s_%d" % (kind, i))
    status, log = build(o, base)
    out = []
    for case in groups(o, kind)[i]:
        if status:
            out.append((case[0], kind, float("inf"), "not built: " + log))
            continue
        try:
            out.append((case[0], kind) + one(o, torch, own, base, case, kind))
        except Exception as e:  # one bad line is one bad case
            out.append((case[0], kind, float("inf"), repr(e)[:300]))
    return out


def run(o):
    import torch
    own = names_for(torch)
    if o.gpu:
        build_runtime(o)
    torch.set_num_threads(1)
    rows = []
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        jobs = [pool.submit(run_file, o, torch, own, kind, i)
                for kind in o.types for i in range(FILES) if groups(o, kind)[i]]
        for j in concurrent.futures.as_completed(jobs):
            rows += j.result()
            for name, kind, worst, words in j.result():
                if not worst <= 1:
                    print("WRONG %s %s: %.3g of its bound, %s" % (
                        name, kind, worst, words), flush=True)
    for kind in o.types:
        mine = sorted((r for r in rows if r[1] == kind), key=lambda r: -r[2])
        right = sum(r[2] <= 1 for r in mine)
        print("%s: %d of %d right; worst of those %s" % (
            kind, right, len(mine), ", ".join(
                "%s %.2g" % (r[0], r[2]) for r in mine if r[2] <= 1)[:120]))
    if o.json:
        with open(o.json, "w") as f:
            json.dump([{"case": r[0], "type": r[1], "of_bound": r[2],
                        "worst": r[3]} for r in sorted(rows)], f, indent=0)
    return sum(not r[2] <= 1 for r in rows)


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--emit", metavar="DIR")
    p.add_argument("--run", metavar="DIR")
    p.add_argument("--dcc", default=os.path.join(HERE, "..", "build", "dcc"))
    p.add_argument("--gpu", action="store_true")
    p.add_argument("--cpu", action="store_true")
    p.add_argument("--types", type=lambda s: s.split(","),
                   default=["f32", "f16"])
    p.add_argument("--cases", type=lambda s: s.split(","), default=[],
                   help="these alone: as at --emit, so at --run")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--json", metavar="FILE")
    o = p.parse_args()
    if not o.emit and not o.run:
        p.error("--emit DIR, --run DIR or both")
    bad = emit(o) if o.emit else 0
    bad += run(o) if o.run else 0
    sys.exit(bad != 0)


if __name__ == "__main__":
    main()
