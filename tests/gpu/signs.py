#!/usr/bin/env python3
"""Gradients of networks with relu and max where signs and arguments are f64's.

    tests/gpu/signs.py --dcc build/dcc --json tests/gpu/results/h200-signs.json
    tests/gpu/signs.py --rows resnet18.b32 --math 3xtf32,exact

A sign that rounding turns moves a gradient by more than any rounding does. So
each relu of an example becomes a choice by a mask, each max pool a choice by the
place of the largest: states of the weights file, which PyTorch's f64 pass filled.
What is left is arithmetic: each parameter's f32 gradient must be within 1e-5 of
f64's, norm-relative (those below 1e-6 of the largest: of that one's), whichever
--math makes the products. PyTorch's own f32 stands beside it, with the same masks,
and both without masks.

Batch norms have the statistics of the batch. Exit status 1 if a row is wrong, 3
without a GPU, nvcc or torch.
"""
import argparse
import concurrent.futures as futures
import json
import os
import re
import sys
import tempfile
import time

import run
import train

BOUND = 1e-5
CUT = """block cut(x: T[..]) -> y {
  state k : i8[..] = "mask" or zeros;
  y[..] = k[..] > 0 ? x[..] : 0;
}
block widest(x: T[N, C, H, W]; kernel, stride, pad) -> y {
  dim P = (H + 2 * pad - kernel) / stride + 1;
  dim Q = (W + 2 * pad - kernel) / stride + 1;
  state k : i8[N, C, P, Q] = "mask" or zeros;
  y[n, c, p, q] = sum(r in 0..kernel, s in 0..kernel) (k[n, c, p, q] == r * kernel + s
      ? x[n, c, p * stride + r - pad, q * stride + s - pad] or 0 : 0);
}
"""


def calls(text, name):
    """[(begin, end)] of the calls name(..), to the closing parenthesis"""
    out = []
    for m in re.finditer(r"\b%s\(" % name, text):
        depth, i = 1, m.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[i], 0)
            i += 1
        out.append((m.start(), i))
    return out


def imposed(text):
    """The program with masks; the other branch of an if has the same name."""
    for name, block in (("relu", "cut"), ("max_pool", "widest")):
        number = len(calls(text, name))
        for begin, end in reversed(calls(text, name)):
            line = text.rfind("\n", 0, begin) + 1
            number -= 1
            other = text[line:begin].lstrip().startswith("else")
            text = (text[:begin] + block + text[begin + len(name):end] +
                    f' as "{block}{number - other}"' + text[end:])
    return CUT + text


class Recorder:
    """torch.nn.functional whose relu and max_pool2d note or obey masks."""

    def __init__(self, torch, masks=None):
        self.F, self.torch = torch.nn.functional, torch
        self.given, self.noted, self.at = masks, [], 0

    def __getattr__(self, name):
        return getattr(self.F, name)

    def next(self):
        self.at += 1
        return self.given[self.at - 1][1]

    def relu(self, x):
        if self.given:
            return self.torch.where(self.next(), x, 0)
        self.noted.append(("cut", x.detach() > 0))
        return self.F.relu(x)

    def max_pool2d(self, x, kernel, stride=None, pad=0):
        stride = stride or kernel
        if self.given:
            return x.flatten(2).gather(2, self.next().flatten(2)).view(
                self.given[self.at - 1][1].shape)
        y, where = self.F.max_pool2d(x, kernel, stride, pad,
                                     return_indices=True)
        self.noted.append(("widest", where))
        self.window = (kernel, stride, pad, x.shape[3])
        return y

    def place(self, where):
        """Indices of an image to places in windows."""
        k, s, p, width = self.window
        row = where // width - self.torch.arange(
            where.shape[2], device=where.device)[:, None] * s + p
        column = where % width - self.torch.arange(
            where.shape[3], device=where.device) * s + p
        return row * k + column


def names(model, text, masks):
    """The path of each mask, in the order of the forward pass."""
    blocks = {"resnet18": (2, [2] * 4), "resnet50": (3, [3, 4, 6, 3])}
    if model not in blocks:
        return [f"cut{i}.mask" for i in range(len(masks))]
    inner, layers = blocks[model]
    every = re.findall(r'as "cut(\d+)"', text)
    # of the block's text: its inner ones, and the one of both branches
    out = [f"cut{every[-1]}.mask", "widest0.mask"]
    for layer, count in enumerate(layers):
        for at in range(count):
            out += [f"layer{layer + 1}.{at}.cut{i}.mask" for i in range(inner)]
    return out


class Row(train.Row):
    def masks(self):
        """f64's; and with them or without them f32's and f64's gradients."""
        torch, nets = self.torch, self.nets
        own = nets.F
        try:
            nets.F = rec = Recorder(torch)
            want = self.gradient(torch.float64)
            nets.F = Recorder(torch, rec.noted)
            torch_imposed = self.gradient(torch.float32)
        finally:
            nets.F = own
        return rec, want, torch_imposed, self.gradient(torch.float32)

    def dcc_gradient(self, library, weights):
        self.library, self.file = library, weights
        return {n: (self.start[n].double() - w.double()) / train.FAR
                for n, w in self.dcc(train.FAR, 1)[2].items()}


def build(o, objects, job):
    model, batch, math, free = job
    stem = stem_of(o, job)
    text = train.program(model, "f32")
    with open(stem + ".dcl", "w") as f:
        f.write(text if free else imposed(text))
    flags = run.arch_flags(o.arch)
    for command in (
            [o.dcc, stem + ".dcl", "-o", stem + ".cu", f"--target={o.target}",
             f"-DB={batch[1:]}", "-DE=f32", f"--math={math}"],
            ["nvcc", "-O3", "-std=c++17", *flags, "-Xcompiler", "-fPIC",
             "-split-compile=0", "-shared", "-I", run.RUNTIME, stem + ".cu",
             *objects, "-o", stem + ".so"]):
        status, text = run.shell(command, 600)
        if status:
            return run.tail(text)
    return None


def stem_of(o, job):
    return os.path.join(o.work, ".".join(job[:3]) + (".free" if job[3]
                                                     else ""))


def one(torch, o, row, built):
    import reference
    import st
    model, batch = row.split(".")
    out = {"row": row, "bound": BOUND}
    r = Row(torch, f"{model}.f32.{batch}", o.work, o.scratch)
    rec, want, torch_imposed, torch_free = r.masks()
    out["torch"] = {"imposed": r.worst(torch_imposed, want),
                    "free": r.worst(torch_free, want)}
    del torch_imposed, torch_free
    r.rate = torch.zeros((), device="cuda")
    r.loss = torch.zeros((), device="cuda")
    r.given = {n: t.contiguous() for n, t in r.inputs.items()}
    r.given.update(target=r.target, rate=r.rate)
    r.stream = torch.cuda.Stream()
    weights = {n: reference.array(t) for n, t in r.start.items()}
    plain = os.path.join(o.scratch, row + ".plain.safetensors")
    st.write(plain, weights)
    with open(stem_of(o, (model, batch, o.math[0], False)) + ".dcl") as f:
        where = names(model, f.read(), rec.noted)
    for name, (kind, mask) in zip(where, rec.noted):
        if kind == "widest":
            mask = rec.place(mask)
        weights[name] = reference.array(mask.to(torch.int8))
    masked = os.path.join(o.scratch, row + ".masked.safetensors")
    st.write(masked, weights)
    out["ok"] = True
    for math in o.math:
        mine = out[math] = {}
        for free in (False, True):
            job = (model, batch, math, free)
            if built[job]:
                mine["error"], out["ok"] = built[job], False
                continue
            got = r.dcc_gradient(stem_of(o, job) + ".so",
                                 plain if free else masked)
            mine["free" if free else "imposed"] = r.worst(got, want)
            if not free:
                mine["over"] = [n for n in got if r.worst(
                    {n: got[n]}, {n: want[n]})[0] > BOUND]
        out["ok"] &= "error" not in mine and mine["imposed"][0] <= BOUND and \
            mine["free"][0] <= 2 * out["torch"]["free"][0]
    for path in (plain, masked):
        os.remove(path)
    run.say(json.dumps(out))
    return out


def options():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--rows", type=lambda s: s.split(","),
                   default=["mlp_dlrm.b2048", "resnet18.b32", "resnet50.b8"])
    p.add_argument("--math", type=lambda s: s.split(","),
                   default=["3xtf32", "exact"])
    p.add_argument("--dcc", default=os.path.join(run.TOP, "build/dcc"))
    p.add_argument("--target", default="h200")
    p.add_argument("--arch", default="90a")
    p.add_argument("--work", help="folder to build in, and to leave")
    p.add_argument("--json")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--commit", default="")
    p.add_argument("--emit-only", action="store_true")
    return p.parse_args()


def main():
    o = options()
    if run.skipped(gpu=not o.emit_only):
        return 3
    begin = time.time()
    o.work = o.work or tempfile.mkdtemp(prefix="dcc-signs-")
    os.makedirs(o.work, exist_ok=True)
    o.scratch = "/dev/shm" if os.path.isdir("/dev/shm") else o.work
    objects = run.build_runtime(o)
    jobs = [(*r.split("."), m, free) for r in o.rows for m in o.math
            for free in (False, True)]
    with futures.ThreadPoolExecutor(o.jobs) as pool:
        built = dict(zip(jobs, pool.map(lambda j: build(o, objects, j), jobs)))
    run.say(f"built in {time.time() - begin:.0f} s")
    report = {**run.machine(o), "rows": []}
    if o.emit_only:
        return any(built.values())
    import torch
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    for row in o.rows:
        report["rows"].append(one(torch, o, row, built))
        if o.json:
            with open(o.json + ".part", "w") as f:
                json.dump(report, f, indent=1)
            os.replace(o.json + ".part", o.json)
        torch.cuda.empty_cache()
    return 0 if all(r["ok"] for r in report["rows"]) else 1


if __name__ == "__main__":
    sys.exit(main())
