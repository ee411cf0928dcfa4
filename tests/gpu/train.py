#!/usr/bin/env python3
"""Training steps of examples/ on a GPU, beside PyTorch, torch.compile and XLA.

    tests/gpu/train.py --dcc build/dcc --json tests/gpu/results/h200-train.json
    tests/gpu/train.py --rows bert_base.f16.b8,mlp_dlrm.f16.b2048 --xla --compile
    tests/gpu/train.py --memory 60% --parts dcc,gradients   # and in less memory
    tests/gpu/train.py --parts dcc,profile    # each launch alone
    tests/gpu/train.py --rows "" --products   # cuDNN's gradients, one by one

A row is a network, an element type and a batch. The step is the same for all:
forward, the loss (cross entropy; the mean square for bert_base and mlp_dlrm),
backward, and w - rate * g for every parameter, which is f32; in f16 the loss is
scaled by 1024 and the rate by its inverse, and the rivals have autocast. Batch
norms have the statistics of the batch. f32 is exact in the rivals and 3xtf32
in dcc.

- time: a step in dcc's graph and in a CUDA graph of PyTorch's own kernels
  (channels last, cuDNN benchmarked, SGD fused), medians, us; --compile:
  torch.compile's forward and backward in such a graph, between two measurements
  of dcc's (dcc_us, dcc_again_us); --xla: JAX's jit of the step (xla_train.py)
  in a process of its own.
- --memory N: the step again under dcc's --memory=N: less_us, less_mb, and its
  gradients, less_gradient.
- profile: each of dcc's launches timed alone, the longest first, beside what dcc
  predicted.
- memory: dcc_mb is what a handle takes (NAME_sizes), torch_mb the peak of
  PyTorch's allocator in such a step, gpu_mb what the GPU has less after a run of
  dcc: its kernels and graph, too.
- gradients: each parameter's against f64, norm-relative (those below 1e-6 of the
  largest: of that one's), the worst one's, beside PyTorch's own.
- ten steps at a rate at which the loss falls by a tenth: the error of w10 - w0
  against f64, all parameters as one vector, beside PyTorch's own.

Prints JSON lines as it goes, writes them as JSON; exit status 1 if a row is
wrong or failed, 3 without a GPU, nvcc or torch. Wrong is a gradient off by more
than 1e-5 (f32) or 2e-2 (f16), where relu and max stand by more than twice
PyTorch's own, and ten steps by more than twice PyTorch's own.
"""
import argparse
import collections
import concurrent.futures as futures
import ctypes
import gc
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import launches
import run

ROWS = ("mlp_dlrm.f16.b2048 resnet18.f16.b32 bert_base.f16.b8 gpt2.f16.b4 "
        "resnet50.f16.b32 resnet18.f32.b32 bert_base.f32.b8").split()
SCALE = {"f16": 1024.0, "f32": 1.0}
TARGETS = {"mlp_dlrm": "E[B, 1]", "bert_base": "E[B, S, D]",
           "gpt2": "i32[B, S] in 0..V"}
SQUARES = ("mlp_dlrm", "bert_base")
SMOOTH = ("bert_base", "gpt2", "vit_b16")
BOUND = {"f32": 1e-5, "f16": 2e-2}
STEPS = 10
FAR = 2.0 ** 30     # w - FAR * g holds g, to f32's rounding


# ---- the program

def program(model, kind):
    """The example with a loss and a step instead of its output."""
    text = open(run.model_path(model)).read()
    text = re.sub(r'  param m : T\[C\] = "running_mean";.*\n'
                  r'  y = batch_norm\(x, g, b, m, v\);',
                  '  y = batch_norm_train(x, g, b) as "";', text)
    at = text.rindex("output ")
    name, value = re.match(r"output (\w+) = (.*);", text[at:]).groups()
    return text[:at] + f"""input target : {TARGETS.get(
        model, "i32[B] in 0..1000")};
  input rate : f32;
  {name} = {value};
  output loss = {"mse" if model in SQUARES else "cross_entropy"}({name}, target);
  scaled = loss * {SCALE[kind]};
  for v in params {{ v = v - rate * grad(scaled, v); }}
}}
"""


def build(o, objects, job):
    """A row's program and library, or those in less memory."""
    row, ending, flags = job
    stem = os.path.join(o.work, row["row"] + ending)
    model, kind, batch = row["row"].split(".")
    with open(stem + ".dcl", "w") as f:
        f.write(program(model, kind))
    start = time.time()
    math = ["--math=" + o.math] if kind == "f32" else []
    status, text = run.shell(
        [o.dcc, stem + ".dcl", "-o", stem + ".cu", f"--target={o.target}",
         "--main", "--explain", f"-DB={batch[1:]}", f"-DE={kind}", *math,
         *o.dcc_flag, *flags])
    if not ending:
        row["dcc_s"] = round(time.time() - start, 2)
    if status:
        # what needs all its memory has no step in less
        row["less_note" if ending else "error"] = (
            f"dcc: exit status {status}\n{run.tail(text)}")
        return
    with open(stem + ".txt", "w") as f:
        f.write(text)
    start = time.time()
    nvcc = ["nvcc", "-O3", "-std=c++17", *run.arch_flags(o.arch)]
    for command in ([*nvcc, "-Xcompiler", "-fPIC", "-split-compile=0", "-I",
                     run.RUNTIME, "-c", stem + ".cu", "-o", stem + ".o"],
                    [*nvcc, "-shared", stem + ".o", *objects, "-o",
                     stem + ".so"],
                    [*nvcc, stem + ".o", *objects, "-o", stem]):
        status, text = run.shell(command, 600)
        if status:
            row["error"] = f"nvcc: exit status {status}\n{run.tail(text)}"
            return
    if not ending:
        row["nvcc_s"] = round(time.time() - start, 1)


# ---- one row, in a process of its own

class Weights:
    """nets.Weights with leaves that train: f32 or f64, batch norms of the batch."""

    def __new__(cls, torch, nets, kind, tensors=None):
        class Trained(nets.Weights):
            def __call__(self, name, *shape, std=None, mean=0.0):
                if name not in self.tensors:
                    super().__call__(name, *shape, std=std, mean=mean)
                return self.tensors[name]

            def bn(self, x, path, gain=1.0, eps=1e-5):
                c = x.shape[1]
                g = self(path + ".weight", c, mean=gain, std=0.1 * gain)
                b = self(path + ".bias", c)
                for name, value in (("mean", 0.0), ("var", 1.0)):
                    self.kept.setdefault(f"{path}.running_{name}", torch.full(
                        (c,), value, device=x.device, dtype=self.kind))
                m, v = (self.kept[f"{path}.running_{n}"]
                        for n in ("mean", "var"))
                return torch.nn.functional.batch_norm(x, m, v, g, b, True, 0.1,
                                                      eps)
        w = Trained(kind, "cuda")
        w.compute, w.kept = kind, {}
        for name, t in (tensors or {}).items():
            t = t.detach().to(kind, copy=True)
            if t.dim() == 4:
                t = t.to(memory_format=torch.channels_last)
            w.tensors[name] = t.requires_grad_()
        return w


class Row:
    """A row's data, PyTorch's way to train it, and dcc's."""

    def __init__(self, torch, name, work, scratch):
        import nets
        import reference
        self.torch, self.nets, self.name = torch, nets, name
        self.model, self.kind, batch = name.split(".")
        self.work = work
        self.library = os.path.join(work, name + ".so")
        self.less = os.path.join(work, name + ".less.so")
        self.file = os.path.join(scratch, name + ".safetensors")
        self.net, self.sizes, spec = nets.NETS[self.model]
        size = {**self.sizes, "B": int(batch[1:])}
        gen = torch.Generator("cuda").manual_seed(1)
        kind, self.inputs = reference.KINDS[self.kind], {}
        for n, dims, bound in reference.input_shapes(spec, size):
            t = torch.randint(0, bound, dims, generator=gen, device="cuda",
                              dtype=torch.int32) if bound else torch.randn(
                                  dims, generator=gen, device="cuda").to(kind)
            self.inputs[n] = t
        w = Weights(torch, nets, torch.float32)
        with torch.no_grad():
            y = next(iter(self.net(w, {n: t if t.dtype == torch.int32 else
                                       t.float() for n, t in self.inputs.items()},
                                   self.sizes).values()))
        if self.model in SQUARES:
            self.target = torch.rand(y.shape, generator=gen, device="cuda"
                                     ).to(kind)
        else:
            self.target = torch.randint(0, y.shape[-1], y.shape[:-1],
                                        generator=gen, device="cuda",
                                        dtype=torch.int32)
        self.start = {n: t.detach() for n, t in w.tensors.items()}
        del y

    def stepper(self, kind, compiled=None):
        """(weights, step): step(rate) trains once and returns the loss."""
        torch, F = self.torch, self.torch.nn.functional
        w = Weights(torch, self.nets, kind, self.start)
        mixed = self.kind == "f16" and kind == torch.float32
        scale = SCALE["f16" if mixed else "f32"]
        given = {n: t if t.dtype == torch.int32 else
                 (t if mixed else t.to(kind)).to(
                     memory_format=torch.channels_last if t.dim() == 4
                     else torch.preserve_format)
                 for n, t in self.inputs.items()}
        squares = self.model in SQUARES
        target = (self.target.to(torch.float64 if kind == torch.float64 else
                                 torch.float32) if squares
                  else self.target.long().flatten())

        def loss():
            with torch.autocast("cuda", torch.float16, enabled=mixed):
                y = next(iter(self.net(w, given, self.sizes).values()))
            if kind != torch.float64:
                y = y.float()
            return (F.mse_loss(y, target) if squares else
                    F.cross_entropy(y.flatten(0, -2), target)) * scale
        if compiled:
            loss = torch.compile(loss, mode=compiled, dynamic=False)
        params = list(w.tensors.values())
        opt = torch.optim.SGD(params, lr=0.0, fused=True)

        def step(rate=0.0, backward=False):
            # of f64 only the numbers count: trying every algorithm takes long
            torch.backends.cudnn.benchmark = kind != torch.float64
            opt.param_groups[0]["lr"] = rate / scale
            s = loss()
            s.backward()
            if backward:
                return s
            opt.step()
            opt.zero_grad(set_to_none=True)
            return s.detach() / scale
        return w, step

    def graph_us(self, step):
        """The median of a step in a CUDA graph."""
        return run.graph_time(self.torch, step, trains=True)

    def free(self):
        gc.collect()
        self.torch.cuda.empty_cache()

    def times_dcc(self, out):
        torch = self.torch
        import reference
        import st
        st.write(self.file, {n: reference.array(t)
                             for n, t in self.start.items()})
        self.rate = torch.zeros((), device="cuda")
        self.loss = torch.zeros((), device="cuda")
        given = {n: t.contiguous() for n, t in self.inputs.items()}
        given.update(target=self.target, rate=self.rate)
        self.given, self.stream = given, torch.cuda.Stream()
        self.time_of(self.library, out,
                     "dcc_again" if "dcc_us" in out else "dcc")
        if os.path.exists(self.less):
            self.time_of(self.less, out, "less")

    def time_of(self, library, out, whose):
        """A library's step: its memory and its time."""
        torch = self.torch
        self.free()
        before = torch.cuda.mem_get_info()[0]
        handle = run.Emitted(library, self.model, self.file)
        # dcc_sizes: its head, then weights and what each handle has
        sizes = (ctypes.c_uint64 * 7)(56 | run.INTERFACE << 32)
        handle._check("sizes", sizes)
        out[whose + "_mb"] = round(sum(sizes[1:3]) / 1e6)
        with torch.cuda.stream(self.stream):
            step = handle.runner(self.given, {"loss": self.loss}, self.stream)
            step()
            self.stream.synchronize()
            if whose == "dcc":
                out["gpu_mb"] = round((before - torch.cuda.mem_get_info()[0])
                                      / 1e6)
            out[whose + "_us"] = round(run.event_time(torch, step), 1)
        handle.destroy()

    def profile(self, out):
        """dcc's launches, each timed alone in a graph of its own."""
        import reference
        import st
        given = self.file + ".in"
        st.write(given, {n: reference.array(t) for n, t in self.given.items()})
        o = argparse.Namespace(work=self.work)
        with open(os.path.join(self.work, self.name + ".txt")) as f:
            steps = launches.explained(f.read())
        r = launches.measure(o, self.name, steps,
                             ["--weights", self.file, "--in", given])
        launches.show(r, 40)
        r["kernels"].sort(key=lambda k: -k["measured"])
        out["launches"] = r
        os.remove(given)

    def times_torch(self, out):
        torch = self.torch
        before = torch.cuda.memory_allocated()
        w, step = self.stepper(torch.float32)
        step()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        step()
        torch.cuda.synchronize()
        out["torch_mb"] = round((torch.cuda.max_memory_allocated() - before)
                                / 1e6)
        out["torch_us"] = self.graph_us(step)

    def times_compile(self, out, mode):
        start = time.time()
        w, step = self.stepper(self.torch.float32, mode)
        out["compile_us"] = self.graph_us(step)
        out["compile_s"] = round(time.time() - start, 1)

    def ten(self, kind, rate):
        """(first loss, last loss, parameters after ten steps)"""
        w, step = self.stepper(kind)
        losses = [step(rate) for _ in range(STEPS)]
        return losses[0].item(), losses[-1].item(), {
            n: t.detach() for n, t in w.tensors.items()}

    def dcc(self, rate, steps, library=None):
        """(first loss, last loss, parameters) of a handle of its own"""
        import st
        path, losses = self.file + ".out", []
        handle = run.Emitted(library or self.library, self.model, self.file)
        with self.torch.cuda.stream(self.stream):
            self.rate.fill_(rate / SCALE[self.kind])
            step = handle.runner(self.given, {"loss": self.loss}, self.stream)
            for _ in range(steps):
                step()
                losses.append(self.loss.clone())
            self.stream.synchronize()
        handle._check("save", handle.handle, path.encode())
        handle.destroy()
        got = st.read(path)
        out = {n: self.torch.from_numpy(got[n].copy()).cuda()
               for n in self.start}
        os.remove(path)
        return losses[0].item(), losses[-1].item(), out

    def gradient(self, kind):
        w, step = self.stepper(kind)
        scale = SCALE[self.kind] if kind == self.torch.float32 else 1.0
        step(backward=True)
        return {n: t.grad.double() / scale for n, t in w.tensors.items()}

    def worst(self, got, want):
        """[error, parameter] of the worst gradient"""
        sizes = {n: g.norm().item() for n, g in want.items()}
        most = max(sizes.values())
        return list(max(
            ((got[n] - g).norm().item() /
             (most if sizes[n] < 1e-6 * most else sizes[n]), n)
            for n, g in want.items()))

    def gradients(self, out):
        torch = self.torch
        want = self.gradient(torch.float64)
        self.free()
        own = self.worst(self.gradient(torch.float32), want)
        out["torch_gradient"] = own
        for whose, library in (("dcc", self.library), ("less", self.less)):
            if not os.path.exists(library):
                continue
            got = {n: (self.start[n].double() - w.double()) / FAR
                   for n, w in self.dcc(FAR, 1, library)[2].items()}
            mine = out[whose + "_gradient"] = self.worst(got, want)
            out["ok"] = out.get("ok", True) and mine[0] <= (
                BOUND[self.kind] if self.model in SMOOTH else 2 * own[0])

    def error(self, got, want):
        """Of w10 - w0, all parameters as one vector."""
        far = size = 0.0
        for n, w in want.items():
            far += (got[n].double() - w).square().sum().item()
            size += (w - self.start[n].double()).square().sum().item()
        return (far / size) ** 0.5

    def errors(self, out):
        torch, rate = self.torch, 1e-4
        for _ in range(24):
            first, last, _w = self.ten(torch.float32, rate)
            if last <= 0.9 * first:
                break
            rate *= 2 if last > 0.99 * first else 1.3
        del _w
        self.free()
        want = self.ten(torch.float64, rate)
        self.free()
        own, dcc = self.ten(torch.float32, rate), self.dcc(rate, STEPS)
        out.update(rate=rate, losses={"f64": want[:2], "torch": own[:2],
                                      "dcc": dcc[:2]},
                   torch_error=self.error(own[2], want[2]),
                   dcc_error=self.error(dcc[2], want[2]))
        out["ok"] = (out.get("ok", True) and
                     out["dcc_error"] <= 2 * out["torch_error"])


def worker(path):
    """The rows of a file one by one; begun ones are crossed out there."""
    import torch
    job = json.load(open(path))
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    while job["rows"]:
        name = job["rows"].pop(0)
        with open(path, "w") as f:
            json.dump(job, f)
        one_row(torch, name, job)
        gc.collect()
        torch.cuda.empty_cache()
    return 0


def one_row(torch, name, job):
    """The parts of a row; what is known of it so far is in a file."""
    out = {"row": name}
    row = Row(torch, name, job["work"], job["scratch"])
    every = {"dcc": row.times_dcc, "torch": row.times_torch,
             "gradients": row.gradients, "errors": row.errors,
             "profile": row.profile,
             "compile": lambda out: row.times_compile(out, job["compile"])}
    for part in job["parts"]:
        start = time.time()
        try:
            every[part](out)
        except Exception as e:
            out[part + "_note"] = f"{type(e).__name__}: {e}"[:400]
        row.free()
        out[part + "_part_s"] = round(time.time() - start, 1)
        with open(os.path.join(job["work"], name + ".out"), "w") as f:
            json.dump(out, f)
    if os.path.exists(row.file):
        os.remove(row.file)
    torch.compiler.reset()


def run_rows(o, rows, parts):
    """Feeds rows to a process, and to another one if that dies."""
    path = os.path.join(o.work, parts[0] + ".json")
    scratch = "/dev/shm" if os.path.isdir("/dev/shm") else o.work
    left = [r for r in rows if "error" not in r]
    while left and time.time() < o.deadline:
        with open(path, "w") as f:
            json.dump({"rows": [r["row"] for r in left], "work": o.work,
                       "scratch": scratch, "compile": o.compile,
                       "parts": parts}, f)
        status, text = run.shell([sys.executable, os.path.abspath(__file__),
                                  "--worker", path],
                                 max(1, o.deadline - time.time()))
        names = json.load(open(path))["rows"]
        done = [r for r in left if r["row"] not in names]
        for r in done:
            said = os.path.join(o.work, r["row"] + ".out")
            if os.path.exists(said):
                r.update(json.load(open(said)))
        if status:
            at = done[-1] if done else left[0]
            at["error"] = f"exit status {status}\n{run.tail(text)}"
            done = done or [at]
        left = [r for r in left if r not in done]
    for r in rows:
        finish(r)


# ---- each product alone

def convolutions(torch, name):
    """{(C, H, K, R, stride): how often} of a torchvision network"""
    import torchvision
    found = collections.Counter()

    def seen(layer, args, _):
        w = layer.weight
        found[(w.shape[1], args[0].shape[2], w.shape[0], w.shape[2],
               layer.stride[0])] += 1
    net = getattr(torchvision.models, name)(weights=None)
    for layer in net.modules():
        if isinstance(layer, torch.nn.Conv2d):
            layer.register_forward_hook(seen)
    with torch.no_grad():
        net(torch.randn(1, 3, 224, 224))
    return found


def products(torch):
    """cuDNN's f16 gradients of each convolution of the residual networks at a
    batch of 32, channels last, from a CUDA graph of ten."""
    torch.backends.cudnn.benchmark = True
    out = []
    for net in ("resnet18", "resnet50"):
        for (c, h, k, r, s), times in convolutions(torch, net).items():
            def random(*shape):
                return torch.randn(*shape, device="cuda", dtype=torch.float16
                                   ).to(memory_format=torch.channels_last)
            x, w = random(32, c, h, h), random(k, c, r, r)
            y = torch.nn.functional.conv2d(x, w, None, s, r // 2)

            def ten(which):
                for _ in range(10):
                    torch.ops.aten.convolution_backward(
                        y, x, w, None, [s, s], [r // 2] * 2, [1, 1], False,
                        [0, 0], 1, which)
            row = dict(net=net, c=c, h=h, k=k, r=r, stride=s, times=times)
            for name, which in (("weight_us", [False, True, False]),
                                ("data_us", [True, False, False])):
                row[name] = run.graph_time(torch, lambda: ten(which)) / 10
            run.say(json.dumps(row))
            out.append(row)
    return out


# ---- the report

def finish(row):
    rivals = [row[k] for k in ("torch_us", "compile_us", "xla_us")
              if row.get(k)]
    if rivals and row.get("dcc_us"):
        row["speedup"] = round(min(rivals) / row["dcc_us"], 3)
    run.say(json.dumps(row))


def options():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--rows", type=lambda s: [r for r in s.split(",") if r],
                   default=ROWS)
    p.add_argument("--dcc", default=os.path.join(run.TOP, "build/dcc"))
    p.add_argument("--dcc-flag", action="append", default=[])
    p.add_argument("--target", default="h200")
    p.add_argument("--arch", default="90a")
    p.add_argument("--work", help="folder to build in, and to leave")
    p.add_argument("--json")
    p.add_argument("--budget", type=float, default=570, help="seconds in all")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--commit", default="")
    p.add_argument("--parts", type=lambda s: s.split(","), default=[
        "dcc", "torch", "gradients", "errors"],
                   help="these alone; profile is one more")
    p.add_argument("--math", default="3xtf32", help="of f32")
    p.add_argument("--memory", metavar="N",
                   help="the rows' steps under dcc's --memory=N, too")
    p.add_argument("--products", action="store_true",
                   help="cuDNN's gradients of weights and of data")
    p.add_argument("--compile", metavar="MODE", nargs="?", const="default")
    p.add_argument("--xla", action="store_true")
    p.add_argument("--emit-only", action="store_true",
                   help="no GPU: dcc and nvcc alone")
    p.add_argument("--worker", help=argparse.SUPPRESS)
    o = p.parse_args()
    o.deadline = time.time() + o.budget
    return o


def write(o, report):
    if o.json:
        with open(o.json + ".part", "w") as f:
            json.dump(report, f, indent=1)
        os.replace(o.json + ".part", o.json)


def main():
    o = options()
    if o.worker:
        return worker(o.worker)
    if run.skipped(gpu=not o.emit_only):
        return 3
    o.work = o.work or tempfile.mkdtemp(prefix="dcc-train-")
    os.makedirs(o.work, exist_ok=True)
    rows = [{"row": name} for name in o.rows]
    report = {**run.machine(o), "rows": rows}
    objects = run.build_runtime(o)
    with futures.ThreadPoolExecutor(o.jobs) as pool:
        # rows begin when all are built: building beside them would be timed
        jobs = [(r, "", []) for r in rows]
        if o.memory:
            jobs += [(r, ".less", ["--memory=" + o.memory]) for r in rows]
        list(pool.map(lambda job: build(o, objects, job), jobs))
    run.say(f"built in {o.budget - (o.deadline - time.time()):.0f} s")
    both = ["dcc", "compile", "dcc"] if "dcc" in o.parts else ["compile"]
    passes = [o.parts] + ([both] if o.compile else [])
    for parts in [] if o.emit_only else passes:
        run_rows(o, rows, parts)
        write(o, report)
    if o.xla and not o.emit_only:
        xla(o, rows)
        write(o, report)
    if o.products and not o.emit_only:
        import torch
        report["products"] = products(torch)
        write(o, report)
    bad = [r for r in rows if "error" in r or not r.get("ok", True)]
    return 1 if bad else 0


def xla(o, rows):
    """Rows gain xla_us, or xla_note, which says why not."""
    script = os.path.join(run.TOP, "tests/gpu/xla_train.py")
    for r in rows:
        left = o.deadline - time.time()
        if left < 10:
            r["xla_note"] = "no time left"
            continue
        status, text = run.shell([sys.executable, script, r["row"]],
                                 left)
        said = [line for line in text.splitlines() if line.startswith("{")]
        r.update(json.loads(said[-1]) if said else {
            "xla_note": f"exit status {status}: {run.tail(text, 3)}"[:400]})
        finish(r)


if __name__ == "__main__":
    sys.exit(main())
