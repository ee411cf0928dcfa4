#!/usr/bin/env python3
"""Pairs of kernels that could be one: both ways on a GPU, beside PyTorch.

    tests/bench/pairs.py --dcc build/dcc --seed 7f408f12 --json pairs.json
    tests/bench/pairs.py --dcc build/dcc --evaluate pairs.json ...

Two products, a depthwise window and its product, attention's two products: a
chain keeps what lies between in the block. For each pair dcc is asked for the
chain, for both apart (--variant=FAMILY=none), and for what the model takes.
Four pairs always come; --draw N more are drawn by the seed, the first 8 hex
digits of the measured commit, out of those that examples/ have at batches 1, 8
and 32. Sides are CUDA graphs over rotated tensors (240 MB of them where 64
sets have so much), replayed in turns; a ratio is the median over rounds.

right: the model takes the quicker way, or one within 1% of it. Prints a table,
writes JSON after each pair; --evaluate needs no GPU: it asks dcc as it is now
which way it takes what was measured once. Exit status 1 if a result is wrong, 3 without GPU
or nvcc.
"""
import argparse
import concurrent.futures as futures
import json
import math
import os
import random
import re
import statistics
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, "tests", "gpu")]
import run                      # noqa: E402
from run import say, shell, tail  # noqa: E402

CHAINS = "chain_wgmma", "chain_mma", "chain_few", "chain_window"
ROTATE_BYTES, SETS = 240e6, (4, 64)
TOLERANCE = 2e-3
NAMED = ["mlp.4096x64x256x64", "mlp.65536x128x512x128",
         "conv.32x56x64x64x256", "dw.1x56x144x24s1"]

# side of the image, channels, columns of the product, stride
MOBILENET = [(112, 32, 16, 1), (112, 96, 24, 2), (56, 144, 24, 1),
             (56, 144, 32, 2), (28, 192, 32, 1), (28, 192, 64, 2),
             (14, 384, 64, 1), (14, 384, 96, 1), (14, 576, 96, 1),
             (14, 576, 160, 2), (7, 960, 160, 1), (7, 960, 320, 1)]
# pixels of an image, terms, what lies between, columns, what follows
BETWEEN = [(12544, 32, 16, 96, "relu6"), (3136, 144, 24, 144, "relu6"),
           (784, 192, 32, 192, "relu6"), (12544, 32, 16, 96, "silu"),
           (3136, 144, 24, 144, "silu"), (784, 240, 40, 240, "silu")]
CONVNEXT = [(3136, 96, 384, 96), (784, 192, 768, 192)]
# heads, rows, width, causal: bert_base, vit_b16, whisper_base, gpt2
ATTENTION = [(12, 128, 64, 0), (12, 197, 64, 0), (8, 1500, 64, 0),
             (12, 1024, 64, 1)]


def population():
    """Names of all pairs of the examples."""
    found = []
    for b in (1, 8, 32):
        found += ["dw.%dx%dx%dx%ds%d" % (b, *s) for s in MOBILENET]
        found += ["%s.%dx%dx%dx%d" % (s[4], b * s[0], *s[1:4])
                  for s in BETWEEN]
        found += ["gelu.%dx%dx%dx%d" % (b * s[0], *s[1:]) for s in CONVNEXT]
        found += ["at.%dx%dx%dx%dc%d" % (b, *s) for s in ATTENTION]
    return found


def drawn(seed, n):
    return random.Random("pairs " + seed).sample(population(), n)


class Pair:
    """A pair by its name: text, the tensors of a run, PyTorch's call."""

    def __init__(self, name):
        self.name = name
        self.kind, rest = name.split(".")
        self.n = [int(v) for v in re.findall(r"\d+", rest)]
        self.inputs, self.params, self.body = getattr(self, "_" + self.kind)()

    def _two(self, text, between=False):
        m, k, j, n = self.n
        inputs = {"x": (m, k)}
        if between:
            inputs["r"] = (m, j)
        self.y = m, n
        return inputs, {"a": (j, k), "b": (j,), "c": (n, j), "d": (n,)}, text

    def _mlp(self):
        return self._two("  output y = linear(gelu(linear(x, a, b)), c, d);\n")

    def _gelu(self):
        inputs, params, _ = self._two("")
        inputs["r"] = self.y
        params["s"] = self.y[1:]
        return inputs, params, (
            "  f = linear(gelu(linear(x, a, b)), c, d);\n"
            "  output y[i, j] = r[i, j] + s[j] * f[i, j];\n")

    def _relu6(self):
        return self._two("  h = linear(x, a, b) + r;\n  output y = %s("
                         "linear(h, c, d));\n" % self.kind, True)

    _silu = _relu6

    def _dw(self):
        b, s, c, n, t = self.n
        p = (s - 1) // t + 1
        self.y = b, p, p, n
        return {"x": (b, s, s, c)}, {"w": (c, 3, 3), "b": (c,), "v": (n, c),
                                     "d": (n,)}, (
            f"  h[n, p in 0..{p}, q in 0..{p}, k] : f16 = relu6((sum(i, j) "
            f"(x[n, p * {t} + i - 1, q * {t} + j - 1, k] or 0) * w[k, i, j])"
            " + b[k]);\n"
            "  output y[n, p, q, e] : f16 = sum(k) h[n, p, q, k] * v[e, k]"
            " + d[e];\n")

    def _conv(self):
        b, s, c, k, n = self.n
        self.y = b, s, s, n
        return {"x": (b, s, s, c), "r": self.y}, {
            "w": (k, 3, 3, c), "b": (k,), "v": (n, k), "d": (n,)}, (
            f"  h[n, p in 0..{s}, q in 0..{s}, k] : f16 = relu((sum(i, j, c) "
            "(x[n, p + i - 1, q + j - 1, c] or 0) * w[k, i, j, c]) + b[k]);\n"
            "  output y[n, p, q, e] : f16 = relu(sum(k) h[n, p, q, k] *"
            " v[e, k] + d[e] + r[n, p, q, e]);\n")

    def _at(self):
        b, h, m, d, causal = self.n
        self.y = b, h, m, d
        score = f"{d ** -0.5!r} * sum(d) x[n, h, i, d] * k[n, h, j, d]"
        if causal:
            score = f"j <= i ? {score} : -inf"
        return {n: self.y for n in "xkv"}, {}, (
            f"  s[n in 0..{b}, h in 0..{h}, i in 0..{m}, j in 0..{m}] : f32 ="
            f" {score};\n  p : f16 = softmax(s);\n"
            "  output y[n, h, i, e] = sum(j) p[n, h, i, j] * v[n, h, j, e];\n")

    def text(self):
        def lines(word, of):
            return "".join(f"  {word} {n} : f16[{', '.join(map(str, d))}];\n"
                           for n, d in of.items())
        return ("model pair {\n" + lines("input", self.inputs) +
                lines("param", self.params) + self.body + "}\n")

    def bytes(self):
        return 2 * sum(math.prod(d) for d in [*self.inputs.values(), self.y])

    def terms(self, name, dims):
        """Of the sum that a parameter is a factor in; 1 of what is added."""
        return 1 if len(dims) == 1 else math.prod(dims[1:])

    def call(self, torch, t):
        """PyTorch's kernels on the tensors t."""
        F = torch.nn.functional
        if self.kind == "at":
            return F.scaled_dot_product_attention(t["x"], t["k"], t["v"],
                                                  is_causal=bool(self.n[4]))
        if self.kind in ("dw", "conv"):
            x = t["x"].permute(0, 3, 1, 2)
            if self.kind == "dw":
                h = F.conv2d(x, t["w"][:, None], t["b"], self.n[4], 1, 1,
                             self.n[2])
                h = F.hardtanh(h, 0, 6, inplace=True)
            else:
                w = t["w"].permute(0, 3, 1, 2)
                h = F.relu_(F.conv2d(x, w, t["b"], 1, 1))
            y = F.conv2d(h, t["v"][:, :, None, None], t["d"])
            if self.kind == "conv":
                y = y.add_(t["r"].permute(0, 3, 1, 2)).relu_()
            return y.permute(0, 2, 3, 1)
        h = F.linear(t["x"], t["a"], t["b"])
        h = F.gelu(h) if self.kind in ("mlp", "gelu") else h.add_(t["r"])
        y = F.linear(h, t["c"], t["d"])
        if self.kind == "gelu":
            y = torch.addcmul(t["r"], t["s"], y)
        return (F.hardtanh(y, 0, 6, inplace=True) if self.kind == "relu6" else
                F.silu(y, inplace=True) if self.kind == "silu" else y)


# ---- building

def ways():
    """How dcc is asked for the chain, for both apart, for its own choice."""
    return {"chain": [f"--variant={f}=any" for f in CHAINS],
            "apart": [f"--variant={f}=none" for f in CHAINS], "model": []}


def build(o, objects, pair, way, flags):
    """{"library", "us", "kernels"} or {"error"}"""
    stem = os.path.join(o.work, f"{pair.name}.{way}")
    with open(stem + ".dcl", "w") as f:
        f.write(pair.text())
    status, text = shell([o.dcc, stem + ".dcl", "-o", stem + ".cu",
                          "--target=" + o.target, "--explain", *flags], 120)
    if status:
        return {"error": tail(text)}
    found = {"us": float(re.search(r"predicted ([\d.]+) us a run", text)[1]),
             "kernels": re.findall(r"^ +(\w+, .*=.*?)(?:  \(|$)", text, re.M),
             "chains": int(re.search(r"(\d+) launches are chains", text)[1])}
    if way == "model" or (way == "chain" and not found["chains"]):
        return found
    status, text = shell(
        ["nvcc", "-O3", "-std=c++17", *run.arch_flags(o.arch), "-Xcompiler",
         "-fPIC", "-I", run.RUNTIME, stem + ".cu", "-shared", *objects, "-o",
         stem + ".so"], 200)
    return {"error": tail(text)} if status else \
        {**found, "library": stem + ".so"}


def build_all(o, pairs):
    objects = run.build_runtime(o)
    with futures.ThreadPoolExecutor(o.jobs) as pool:
        jobs = {(p.name, w): pool.submit(build, o, objects, p, w, flags)
                for p in pairs for w, flags in ways().items()}
        return {key: job.result() for key, job in jobs.items()}


# ---- measuring

def write_weights(path, tensors):
    head, at = {}, 0
    for n, t in tensors.items():
        size = t.numel() * 2
        head[n] = {"dtype": "F16", "shape": list(t.shape),
                   "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for t in tensors.values():
            f.write(t.cpu().numpy().tobytes())


class Measure:
    """Tensors of a pair in so many sets, and what runs over them."""

    def __init__(self, torch, o, pair):
        self.torch, self.o, self.pair = torch, o, pair
        sets = math.ceil(ROTATE_BYTES / pair.bytes())
        self.sets = min(max(sets, SETS[0]), SETS[1])
        self.params = {
            n: self.random(d, pair.terms(n, d) ** -0.5)
            for n, d in pair.params.items()}
        self.inputs = [{n: self.random(d) for n, d in pair.inputs.items()}
                       for _ in range(self.sets)]
        self.y = [self.random(pair.y) for _ in range(self.sets)]
        self.stream = torch.cuda.Stream()
        self.weights = ""
        if self.params:
            self.weights = os.path.join(o.work, pair.name + ".safetensors")
            write_weights(self.weights, self.params)

    def random(self, dims, scale=1.0):
        t = self.torch.empty(dims, dtype=self.torch.float16, device="cuda")
        return t.normal_(0, scale)

    def reference(self, i):
        t = {n: t.double() for n, t in {**self.params,
                                        **self.inputs[i]}.items()}
        self.torch.backends.cudnn.benchmark = False  # slow to choose in double
        y = self.pair.call(self.torch, t)
        self.torch.backends.cudnn.benchmark = True
        return y

    def graph(self, step):
        with self.torch.cuda.stream(self.stream):
            for i in range(2):
                step(i)
            self.torch.cuda.synchronize()
            g = self.torch.cuda.CUDAGraph()
            g.capture_begin(capture_error_mode="thread_local")
            for i in range(self.sets):
                step(i)
            g.capture_end()
        return g

    def dcc(self, library):
        model = run.Emitted(library, "pair", self.weights)
        runs = [model.runner(self.inputs[i], {"y": self.y[i]}, self.stream)
                for i in range(self.sets)]
        return lambda i: runs[i]()

    def torch_step(self):
        kept = [None] * self.sets

        def step(i):
            t = {**self.params, **self.inputs[i]}
            kept[i] = self.pair.call(self.torch, t)
        return step

    def turns(self, graphs):
        """{name: [us a run of each round]}"""
        torch, us = self.torch, {n: [] for n in graphs}
        names = list(graphs)
        for r in range(self.o.rounds + 1):
            order = random.Random(r).sample(names, len(names))
            marks = [torch.cuda.Event(enable_timing=True)
                     for _ in range(len(order) + 1)]
            with torch.cuda.stream(self.stream):
                marks[0].record()
                for n, mark in zip(order, marks[1:]):
                    graphs[n].replay()
                    mark.record()
            torch.cuda.synchronize()
            if r:               # the first one warms up
                for n, a, b in zip(order, marks, marks[1:]):
                    us[n].append(a.elapsed_time(b) * 1e3 / self.sets)
        return us


def measure(torch, o, pair, built):
    m = Measure(torch, o, pair)
    want = m.reference(0)
    case, graphs = {"sets": m.sets}, {}
    for way in ("chain", "apart"):
        b = built[pair.name, way]
        case[way] = {k: v for k, v in b.items() if k != "library"}
        if "library" not in b:
            continue
        step = m.dcc(b["library"])
        m.y[0].fill_(float("nan"))
        torch.cuda.synchronize()
        step(0)
        torch.cuda.synchronize()
        error = ((m.y[0].double() - want).norm() / want.norm()).item()
        case[way]["error"] = float("%.3g" % error)
        case[way]["wrong"] = not error <= TOLERANCE
        graphs[way] = m.graph(step)
    model = built[pair.name, "model"]
    case["model"] = "chain" if model.get("chains") else "apart"
    graphs["torch"] = m.graph(m.torch_step())
    us = m.turns(graphs)
    case["measured"] = {n: round(statistics.median(v), 3)
                        for n, v in us.items()}

    def ratio(a, b):
        return round(statistics.median(x / y for x, y in zip(us[a], us[b])), 3)
    if "chain" in us and "apart" in us:
        case["apart_over_chain"] = ratio("apart", "chain")
        taken = case["model"]
        other = "apart" if taken == "chain" else "chain"
        case["lost"] = max(0, round(ratio(taken, other) - 1, 3))
        case["right"] = case["lost"] <= 0.01
    if case["model"] in us:
        case["torch_over_model"] = ratio("torch", case["model"])
    return case


def line(name, c):
    got, us = c.get("measured", {}), lambda w: c.get(w, {}).get("us", 0)
    text = f"{name:26} {us('chain'):8.2f} {us('apart'):8.2f}"
    for w in ("chain", "apart", "torch"):
        text += f" {got.get(w, 0):8.2f}"
    text += f" {c.get('apart_over_chain', 0):6.3f}  {c['model']}"
    text += "" if c.get("right", True) else f"  LOSES {c['lost']:.1%}"
    for w in ("chain", "apart"):
        if c.get(w, {}).get("wrong") or isinstance(
                c.get(w, {}).get("error"), str):
            text += f"\n    {w}: {c[w]['error']}"
    return text


def summary(cases, names):
    both = [cases[n] for n in names if "right" in cases.get(n, {})]
    if not both:
        return {}
    return {"pairs": len(both), "right": sum(c["right"] for c in both),
            "chains": sum(c["model"] == "chain" for c in both),
            "most_lost": max(c["lost"] for c in both)}


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--dcc", default=os.path.join(TOP, "build/dcc"))
    p.add_argument("--seed", default="00000000")
    p.add_argument("--draw", type=int, default=40)
    p.add_argument("--only", help="a regular expression of names")
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--target", default="h200")
    p.add_argument("--arch", default="90a")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--json", default="pairs.json")
    p.add_argument("--commit", default="")
    p.add_argument("--evaluate", nargs="+", metavar="JSON")
    p.add_argument("--emit-only", action="store_true",
                   help="say what the model predicts, without a GPU")
    return p.parse_args()


def predict(o, pairs):
    for p in pairs:
        us = {w: build(o, [], p, "model", flags)
              for w, flags in ways().items()}
        say(f"{p.name:26} chain {us['chain'].get('us', 0):8.2f} apart "
            f"{us['apart'].get('us', 0):8.2f} model {us['model'].get('us', 0)}"
            f"  {us['chain'].get('kernels', us['chain'])}")
    return 0


def evaluate(o):
    """Of each measured pair the way that dcc takes now, and what it loses."""
    right, lost = 0, []
    for path in o.evaluate:
        with open(path) as f:
            cases = json.load(f)["cases"]
        for name, case in cases.items():
            us = case.get("measured", {})
            if "chain" not in us or "apart" not in us:
                continue
            said = {w: build(o, [], Pair(name), "model", flags)
                    for w, flags in ways().items()}
            taken = "chain" if said["model"].get("chains") else "apart"
            lost.append(us[taken] / min(us["chain"], us["apart"]) - 1)
            right += lost[-1] <= 0.01
            say(f"{name:26} {said['chain'].get('us', 0):8.2f} "
                f"{said['apart'].get('us', 0):8.2f} {us['chain']:8.2f} "
                f"{us['apart']:8.2f} {us['apart'] / us['chain']:6.3f}  {taken}"
                + (f"  LOSES {lost[-1]:.1%}" if lost[-1] > 0.01 else ""))
    say(json.dumps({"pairs": len(lost), "right": right,
                    "most_lost": round(max(lost), 3),
                    "lost_over_5%": sum(v > 0.05 for v in lost)}))
    return 0


def main():
    o = options()
    names = NAMED + [n for n in drawn(o.seed, o.draw) if n not in NAMED]
    pairs = [Pair(n) for n in names if not o.only or re.search(o.only, n)]
    with tempfile.TemporaryDirectory(prefix="dcc-pairs-") as o.work:
        if o.emit_only:
            return predict(o, pairs)
        if o.evaluate:
            return evaluate(o)
        if shell(["nvidia-smi", "-L"], 60)[0] or shell(["nvcc", "-V"], 60)[0]:
            say("no GPU, or no nvcc: skipped")
            return 3
        import torch
        built = build_all(o, pairs)
        report = {**run.machine(o), "seed": o.seed, "named": NAMED,
                  "cases": {}}
        cases = report["cases"]
        say(f"{'pair':26} {'predicted chain, apart':17} "
            f"{'us: chain':>8}    apart  PyTorch  ratio  taken")
        with torch.no_grad():
            for p in pairs:
                cases[p.name] = measure(torch, o, p, built)
                torch.cuda.empty_cache()
                report["summary"] = summary(cases, [
                    n for n in drawn(o.seed, o.draw)])
                say(line(p.name, cases[p.name]))
                with open(o.json, "w") as f:
                    json.dump(report, f, indent=1)
        say(json.dumps(report["summary"]))
    bad = [c for c in cases.values() for w in ("chain", "apart")
           if c.get(w, {}).get("wrong")]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
