#!/usr/bin/env python3
"""Runs the models of examples/ on a GPU: are they right, and how fast.

    tests/gpu/run.py --dcc build/dcc --models resnet18,bert_base --json out.json

For every model, element type and batch size: dcc emits, nvcc builds a shared
library (all in parallel), the model's C API runs it on random weights and
inputs, the outputs are compared with the same network in double, and both
dcc's graph and PyTorch's own kernels in a CUDA graph (channels-last, cuDNN
benchmarked, no TF32 for f32) are timed in the same process by the same clock.
--compile has torch.compile make kernels of the same network, in a CUDA graph
too, by compiled.py; --xla times the same networks under JAX's jit, by xla.py;
both run afterwards.  Ratios are to the quickest rival.  compute-sanitizer runs
the small ones.  Prints a table, writes JSON; exit status 1 if anything is
wrong, 3 without GPU, nvcc or torch.

Needs torch and nvcc; no flex, bison, autotools or Criterion.
"""
import argparse
import atexit
import concurrent.futures as futures
import ctypes
import importlib.util
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUNTIME = os.path.join(TOP, "runtime")
TOLERANCE = {"f16": 1e-2, "bf16": 8e-2, "f32": 1e-5}    # by the mantissa
SMALL = ("mlp", "digits")
sys.path.insert(0, os.path.join(TOP, "tools"))


INTERFACE = int(re.search(r"#define DCC_INTERFACE (\d+)", open(
    os.path.join(RUNTIME, "dcc_rt.h")).read()).group(1))


def say(*words):
    print(*words, flush=True)


def shell(command, timeout=600):
    """(exit status, stdout and stderr)"""
    try:
        r = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                           stderr=subprocess.STDOUT, timeout=timeout)
        return r.returncode, r.stdout
    except subprocess.TimeoutExpired as e:
        return 124, f"{command[0]}: more than {timeout} s\n{e.stdout or ''}"
    except OSError as e:
        return 127, f"{command[0]}: {e.strerror}"


def tail(text, lines=12):
    return "\n".join(text.strip().splitlines()[-lines:])


# ---- building

def arch_flags(arch):
    return ["-gencode", f"arch=compute_{arch},code=sm_{arch}"]


def build_runtime(o):
    """The runtime's objects, once for all."""
    def build_one(name):
        obj = os.path.join(o.work, name[:-2] + ".o")
        status, text = shell(["nvcc", "-O2", "-Xcompiler", "-fPIC", "-c",
                              os.path.join(RUNTIME, name), "-o", obj])
        if status:
            raise SystemExit(f"nvcc cannot build {name}:\n{text}")
        return obj
    names = [n for n in sorted(os.listdir(RUNTIME))
             if re.fullmatch(r"(base|rt.*|safetensors.*)\.c", n)]
    with futures.ThreadPoolExecutor(o.jobs) as pool:
        return list(pool.map(build_one, names))


def emit(o, case, path, *flags):
    """dcc, as a user would call it."""
    defines = [f"-DB={case['batch']}", f"-DE={case['type']}"]
    defines += [f"-D{d}" for d in o.D
                if re.search(r"\bdim %s\b" % d.split("=")[0],
                             open(model_path(case["model"])).read())]
    command = [o.dcc, model_path(case["model"]), "-o", path,
               f"--target={o.target}", *defines, *flags, *o.dcc_flag]
    start = time.time()
    status, text = shell(command, 120)
    case["dcc_s"] = round(time.time() - start, 3)
    return status, " ".join(command) + "\n" + text


def model_path(name):
    return os.path.join(TOP, "examples", name + ".dcl")


def build(o, objects, case):
    """case gains `library`, or `error`; what an earlier call left in o.work
    is taken as it is, unless dcc is newer."""
    stem = os.path.join(o.work, case_name(case))
    kept = stem + ".json"
    if os.path.exists(kept) and \
            os.path.getmtime(kept) > os.path.getmtime(o.dcc):
        with open(kept) as f:
            case.update(json.load(f))
        return case
    status, text = emit(o, case, stem + ".cu")
    if status:
        case["error"] = f"dcc: exit status {status}\n{tail(text)}"
        return case
    start = time.time()
    status, text = shell(
        ["nvcc", "-O3", "-std=c++17", *arch_flags(o.arch), "-Xcompiler",
         "-fPIC", "-Xptxas", "-v", "-I", RUNTIME, stem + ".cu",
         "-shared", *objects, "-o", stem + ".so"], o.nvcc_timeout)
    case["nvcc_s"] = round(time.time() - start, 1)
    spills = re.findall(r"entry function '(\w+)'.*?(\d+) bytes spill stores",
                        text, re.S)
    case["kernels"] = len(spills)
    case["spill_bytes"] = sum(int(n) for _, n in spills)
    case["spills"] = {k: int(n) for k, n in spills if n != "0"}
    if status:
        case["error"] = f"nvcc: exit status {status}\n{tail(text)}"
    else:
        case["library"] = stem + ".so"
        with open(kept, "w") as f:
            json.dump(case, f)
    return case


def case_name(case):
    return f"{case['model']}.{case['type']}.b{case['batch']}"


# ---- running, in a process of its own: a fault there ends only that one

class Emitted:
    """A model's C API in a shared library: NAME_create, NAME_run, ..."""

    def __init__(self, library, name, weights):
        self.lib, self.name = ctypes.CDLL(library), name
        self.lib.dcc_error.restype = ctypes.c_char_p
        self.handle = ctypes.c_void_p()
        header = open(library[:-3] + ".h").read()
        self.fields = {side: self._fields(header, f"{name}_{side}")
                       for side in ("inputs", "outputs")}
        self._check("create", ctypes.byref(self.handle), weights.encode())

    @staticmethod
    def _fields(header, struct):
        body = re.search(r"struct[^{};]*\{([^}]*)\}\s*%s\s*;" % struct, header)
        body = body or re.search(r"struct\s+%s\s*\{([^}]*)\}" % struct, header)
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", body.group(1), flags=re.S)
        names = re.findall(r"(\w+)\s*;", text)
        if names[:1] != ["DCC_HEAD_FIELDS"]:
            raise RuntimeError(f"{struct} does not begin with DCC_HEAD_FIELDS")
        return names[1:]

    def _check(self, call, *args):
        status = getattr(self.lib, f"{self.name}_{call}")(*args)
        if status:
            raise RuntimeError(f"{self.name}_{call}: status {status}: "
                               f"{self.lib.dcc_error().decode()}")

    def _struct(self, side, tensors):
        """DCC_HEAD_FIELDS, two words that a pointer is as wide as; pointers"""
        fields = self.fields[side]
        words = ctypes.c_uint64 * (1 + len(fields))
        return words(ctypes.sizeof(words) | INTERFACE << 32,
                     *(tensors[f].data_ptr() for f in fields))

    def runner(self, inputs, outputs, stream):
        """A function that enqueues one run."""
        ins, outs = self._struct("inputs", inputs), self._struct("outputs", outputs)
        call = getattr(self.lib, self.name + "_run")
        where = ctypes.c_void_p(stream.cuda_stream)

        def run():
            if call(self.handle, ins, outs, where):
                raise RuntimeError(self.lib.dcc_error().decode())
        run.keep = (inputs, outputs, ins, outs)
        return run

    def destroy(self):
        getattr(self.lib, self.name + "_destroy")(self.handle)


def event_time(torch, fn, repeats=5, least_us=20000, warm_s=0.2):
    """Median microseconds of one fn(), by CUDA events over groups of them. The
    GPU is busy for a while before: clocks of one that rested are low."""
    a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start = time.time()
    while time.time() - start < warm_s:
        for _ in range(3):
            fn()
        torch.cuda.synchronize()
    a.record()
    fn()
    b.record()
    b.synchronize()
    n = max(1, int(least_us / max(1.0, a.elapsed_time(b) * 1e3)))
    times = []
    for _ in range(repeats):
        a.record()
        for _ in range(n):
            fn()
        b.record()
        b.synchronize()
        times.append(a.elapsed_time(b) * 1e3 / n)
    return statistics.median(times)


def graph_of(torch, run, trains=False):
    """(run() as a CUDA graph, what it returns: the same memory every time)"""
    with torch.inference_mode(not trains):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                run()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = run()
    return graph, out


def graph_time(torch, run, trains=False):
    """Median microseconds of run() replayed as a CUDA graph."""
    graph, out = graph_of(torch, run, trains)
    us = round(event_time(torch, graph.replay), 2)
    del graph, out
    return us


def torch_net(torch, data, batch):
    """The network as PyTorch is quickest at it: a function that runs it."""
    w = data.weights
    w.compute, w.calibrating = data.kind, False
    torch.backends.cudnn.benchmark = True
    last = torch.channels_last
    for n, t in w.tensors.items():
        if t.dim() == 4:
            w.tensors[n] = t.to(memory_format=last)
    inputs = {n: t.to(memory_format=last) if t.dim() == 4 else t
              for n, t in data.rows(data.inputs[-1], batch).items()}
    if data.stateful:
        inputs["cache"] = data.cache(batch, data.kind)
        inputs["pos"], inputs["whole"] = data.sizes["S"] - 1, True

    return lambda: data.net(w, inputs, data.sizes)


def torch_time(torch, data, case):
    """case gains `torch_us`: PyTorch's own kernels for the same network; or a
    note why not."""
    w = data.weights
    keep = dict(w.tensors)
    try:
        case["torch_us"] = graph_time(torch, torch_net(torch, data,
                                                       case["batch"]))
    except Exception as e:              # the peer's trouble is not ours
        case["torch_note"] = f"{type(e).__name__}: {e}"[:200]
    finally:
        w.compute, w.tensors = torch.float64, keep
        torch.backends.cudnn.benchmark = False    # slow to choose in double


def error_of(torch, name, got, ref):
    """Norm-relative error; an argmax is as wrong as the value it chose."""
    if got[name].is_floating_point():
        a, b = got[name].double(), ref[name].double()
        bad = not torch.isfinite(a).all()
        return float("inf") if bad else ((a - b).norm() / b.norm()).item()
    scores = ref["logits"]
    chosen = scores.gather(1, got[name].long()[:, None])[:, 0]
    return ((scores.max(1)[0] - chosen).max() / scores.abs().max()).item()


def run_case(torch, case, data, weights, o):
    """case gains `error_norm`, `dcc_us` and its rivals' times."""
    batch, kind = case["batch"], data.kind
    ref = data.rows(data.ref, batch)
    outputs = {n: torch.empty(t.shape, device="cuda",
                              dtype=kind if t.is_floating_point() else t.dtype)
               for n, t in ref.items()}
    model = Emitted(case["library"], case["model"], weights)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for given in data.inputs:
            inputs = {n: t.cuda().contiguous()
                      for n, t in data.rows(given, batch).items()}
            run = model.runner(inputs, outputs, stream)
            run()
            stream.synchronize()
        case["error_norm"] = {n: error_of(torch, n, outputs, ref) for n in ref}
        first = {n: t.clone() for n, t in outputs.items()}
        run()
        stream.synchronize()
        case["repeats"] = all(torch.equal(first[n], outputs[n]) for n in first)
        if o["time"]:
            case["dcc_us"] = round(event_time(torch, run), 2)
    model.destroy()
    case["ok"] = (max(case["error_norm"].values()) <= TOLERANCE[case["type"]]
                  and case["repeats"])
    del outputs, first, ref
    if o["time"] and o["torch"]:
        torch_time(torch, data, case)


def worker(path):
    """Runs the cases of a file, one JSON line each, in its order."""
    import torch
    import reference
    job = json.load(open(path))
    o = job["options"]
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    data, key, weights = None, None, None
    for case in job["cases"]:
        say(json.dumps({"begin": case_name(case)}))
        if (case["model"], case["type"]) != key:
            data = None
            torch.cuda.empty_cache()
            key = case["model"], case["type"]
            start = time.time()
            data = reference.Case(*key, o["batches"], o["sizes"], "cuda")
            weights = os.path.join(o["scratch"], ".".join(key) + ".safetensors")
            data.write_weights(weights)
            case["data_s"] = round(time.time() - start, 1)
        try:
            run_case(torch, case, data, weights, o)
        except RuntimeError as e:
            case["error"] = f"{e}"[:400]
        say(json.dumps({"case": case}))
        if "CUDA error" in case.get("error", ""):
            return 1                        # the context may be lost
        torch.cuda.empty_cache()
    return 0


def run_all(o, cases):
    """Feeds the cases to worker processes; one that dies costs one case."""
    ready = [c for c in cases if "library" in c]
    scratch = "/dev/shm" if os.path.isdir("/dev/shm") else o.work
    options = {"time": not o.no_time, "torch": not o.no_torch_time,
               "batches": o.batches, "sizes": o.sizes, "scratch": scratch}
    while ready and time.time() < o.deadline:
        path = os.path.join(o.work, "cases.json")
        with open(path, "w") as f:
            json.dump({"cases": ready, "options": options}, f)
        p = subprocess.Popen([sys.executable, os.path.abspath(__file__),
                              "--worker", path], stdout=subprocess.PIPE,
                             stderr=open(path + ".log", "w"), text=True)
        begun = None
        for line in p.stdout:
            if not line.startswith("{"):
                continue
            message = json.loads(line)
            if "begin" in message:
                begun = message["begin"]
                continue
            done = message["case"]
            at = next(c for c in ready if case_name(c) == case_name(done))
            at.update(done)
            ready.remove(at)
            begun = None
            say(row(at))
            if time.time() > o.deadline:
                p.terminate()
        p.wait()
        if begun and time.time() < o.deadline:
            at = next(c for c in ready if case_name(c) == begun)
            at["error"] = (f"ended with status {p.returncode}\n" +
                           tail(open(path + ".log").read()))
            ready.remove(at)
            say(row(at))
        elif not begun and ready and p.returncode not in (0, 1):
            say(tail(open(path + ".log").read()))
            break
    for c in ready:
        c["error"] = "no time left"


# ---- rivals that compile, in processes of their own

def run_compiled(o, cases):
    """Cases gain compiled.py's figures, or `compile_note`: why not. Half of
    the time that is left is for compiling."""
    left = {case_name(c): c for c in cases}
    limit = max(1, min(150, (o.deadline - time.time()) / 2))
    rival_lines(o, left, "compiled.py", "--mode", o.compile, "--work", o.work,
                "--limit", "%.0f" % limit)
    if left:
        say(f"torch.compile: {len(left)} cases not run")


def run_xla(o, cases):
    """Cases gain xla.py's figures, or `xla_note`, which says why not."""
    if not importlib.util.find_spec("jax"):
        say("xla: skipped, jax is not installed")
        return
    left = {case_name(c): c for c in cases}
    while left and time.time() < o.deadline:
        begun, status = rival_lines(o, left, "xla.py")
        if not begun:
            break
        left.pop(begun)["xla_note"] = f"ended with status {status}"
    if left:
        say(f"xla: {len(left)} cases not run")


def rival_lines(o, left, script, *flags):
    """Takes what a script did out of `left`: (case it died in or None, status)
    """
    log, begun = os.path.join(o.work, script + ".log"), None
    p = subprocess.Popen(
        [sys.executable, os.path.join(TOP, "tests/gpu", script), "--cases",
         ",".join(left), *[f"-D{d}" for d in o.D], *flags],
        stdout=subprocess.PIPE, stderr=open(log, "w"), text=True)
    timer = threading.Timer(max(0, o.deadline - time.time()), p.kill)
    timer.start()
    for line in p.stdout:
        if not line.startswith("{"):
            say(script + ":", line.strip())
            continue
        message = json.loads(line)
        begun = message.get("begin")
        if not begun:
            done = left.pop(message.pop("case"))
            done.update(message)
            say(row(done))
    timer.cancel()
    if p.wait():
        say(f"{script}: ended with status {p.returncode}",
            tail(open(log).read()))
    return begun, p.returncode


# ---- compute-sanitizer

def sanitize(o, objects, name, kind, data_dir):
    """memcheck and racecheck of the program that --main gives."""
    case = {"model": name, "type": kind, "batch": 3, "tool": "sanitizer"}
    stem = os.path.join(o.work, f"{name}.{kind}.main")
    status, text = emit(o, case, stem + ".cu", "--main")
    if not status:
        status, text = shell(["nvcc", "-O3", "-lineinfo", "-std=c++17",
                              *arch_flags(o.arch), "-I", RUNTIME, stem + ".cu",
                              *objects, "-o", stem])
    for tool in ("memcheck", "racecheck"):
        if not status:
            files = os.path.join(data_dir, f"{name}.{kind}")
            status, text = shell(
                ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9",
                 stem, "--weights", files + ".weights.safetensors", "--in",
                 files + ".b3.in.safetensors", "--out", stem + ".out"], 120)
            case[tool] = "clean" if not status else "errors"
    if status:
        case["error"] = tail(text)
    case["ok"] = not status
    return case


def sanitize_all(o, objects):
    if o.no_sanitizer or not shutil.which("compute-sanitizer"):
        say("compute-sanitizer: skipped")
        return []
    small = [m for m in SMALL if m in o.models]
    if not small:
        return []
    status, text = shell([sys.executable,
                          os.path.join(TOP, "tools/reference.py"), "--models",
                          ",".join(small), "--types", ",".join(o.types),
                          "--batch", "3", "--out", o.work,
                          *[f"-D{d}" for d in o.D]])
    if status:
        return [{"model": "reference.py", "ok": False, "error": tail(text)}]
    jobs = [(m, t) for m in small for t in o.types]
    with futures.ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda j: sanitize(o, objects, *j, o.work), jobs))
    for c in done:
        say(f"{c['model']:12} {c['type']:4} memcheck {c.get('memcheck')}, "
            f"racecheck {c.get('racecheck')}" +
            (f"\n{c['error']}" if "error" in c else ""))
    return done


# ---- the report

HEAD = (f"{'model':15} {'type':4} {'B':>4} {'error':>9} {'dcc us':>10} "
        f"{'torch us':>10} {'compile us':>10} {'xla us':>10} {'ratio':>6} "
        f"{'nvcc s':>7} {'kernels':>7} {'spills':>6}")


def row(c):
    def number(key, form):
        return form % c[key] if c.get(key) is not None else "-"
    worst = max(c["error_norm"].values()) if c.get("error_norm") else None
    rivals = [c[k] for k in ("torch_us", "compile_us", "xla_us") if c.get(k)]
    c["speedup"] = (round(min(rivals) / c["dcc_us"], 3)
                    if rivals and c.get("dcc_us") else None)
    line = (f"{c['model']:15} {c['type']:4} {c['batch']:4} "
            f"{'-' if worst is None else '%.1e' % worst:>9} "
            f"{number('dcc_us', '%.1f'):>10} {number('torch_us', '%.1f'):>10} "
            f"{number('compile_us', '%.1f'):>10} "
            f"{number('xla_us', '%.1f'):>10} {number('speedup', '%.2f'):>6} "
            f"{number('nvcc_s', '%.1f'):>7} "
            f"{number('kernels', '%d'):>7} {number('spill_bytes', '%d'):>6}")
    if not c.get("ok"):
        line += "  WRONG" if "error_norm" in c else "  FAILED"
    if not c.get("repeats", True):
        line += " (two runs differ)"
    for kernel, n in c.get("spills", {}).items():
        line += f"\n    {kernel} spills {n} bytes"
    for rival in ("torch", "compile"):
        if c.get(rival + "_note"):
            line += f"\n    {rival}: " + c[rival + "_note"].split("\n")[0]
    if c.get("xla_note"):
        line += "\n    xla: " + c["xla_note"].replace("\n", "\n    ")
    if c.get("error"):
        line += "\n    " + c["error"].replace("\n", "\n    ")
    return line


def machine(o):
    def first(command):
        status, text = shell(command, 30)
        lines = text.strip().splitlines()
        return lines[-1].strip() if status == 0 and lines else "unknown"
    gpu = first(["nvidia-smi", "--query-gpu=name,driver_version",
                 "--format=csv,noheader"]).split(", ")
    return {"gpu": gpu[0], "driver": gpu[-1], "toolkit":
            first(["nvcc", "--version"]), "commit": o.commit or
            first(["git", "-C", TOP, "rev-parse", "--short", "HEAD"])}


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    models = sorted(f[:-4] for f in os.listdir(os.path.join(TOP, "examples"))
                    if f.endswith(".dcl"))
    p.add_argument("--models", default=",".join(models))
    p.add_argument("--types", default="f16,f32")
    p.add_argument("--batch", default="1,8")
    p.add_argument("-D", action="append", default=[], metavar="NAME=VALUE",
                   help="a size, where a model has it")
    p.add_argument("--dcc", default=os.path.join(TOP, "build/dcc"))
    p.add_argument("--dcc-flag", action="append", default=[])
    p.add_argument("--target", default="h200")
    p.add_argument("--arch", default="90a")
    p.add_argument("--work", help="folder to build in, and to leave")
    p.add_argument("--build-only", action="store_true",
                   help="into --work, for a later call with the same")
    p.add_argument("--json", default="gpu.json")
    p.add_argument("--budget", type=float, default=570, help="seconds in all")
    p.add_argument("--nvcc-timeout", type=float, default=240)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--commit", default="")
    p.add_argument("--no-time", action="store_true")
    p.add_argument("--no-torch-time", action="store_true")
    p.add_argument("--compile", metavar="MODE", nargs="?", const="default",
                   help="time torch.compile too: default, "
                   "max-autotune-no-cudagraphs")
    p.add_argument("--xla", action="store_true", help="time JAX's jit too")
    p.add_argument("--no-sanitizer", action="store_true")
    p.add_argument("--worker", help=argparse.SUPPRESS)
    o = p.parse_args()
    o.models, o.types = o.models.split(","), o.types.split(",")
    o.batches = [int(b) for b in o.batch.split(",")]
    o.sizes = {n: int(v) for n, v in (d.split("=") for d in o.D)}
    o.deadline = time.time() + o.budget
    return o


def build_all(o, objects, cases):
    say(f"building {len(cases)} libraries, {o.jobs} at once")
    start = time.time()
    with futures.ThreadPoolExecutor(o.jobs) as pool:
        for c in pool.map(lambda c: build(o, objects, c), cases):
            if "error" in c:
                say(row(c))
    say(f"built in {time.time() - start:.0f} s\n")


def skipped(gpu=True):
    """Whether a tool is missing without which there is nothing to run."""
    missing = ("nvcc" if not shutil.which("nvcc") else
               "GPU" if gpu and shell(["nvidia-smi", "-L"], 60)[0] else None)
    if missing:
        say(f"no {missing}: skipped")
    return bool(missing)


def main():
    o = options()
    if o.worker:
        return worker(o.worker)
    if skipped():
        return 3
    if not o.work:
        o.work = tempfile.mkdtemp(prefix="dcc-gpu-")
        atexit.register(shutil.rmtree, o.work, ignore_errors=True)
    os.makedirs(o.work, exist_ok=True)
    cases = [{"model": m, "type": t, "batch": b}
             for m in o.models for t in o.types for b in o.batches]
    report = {**machine(o), "torch_compile": o.compile, "cases": cases}
    say(json.dumps({k: v for k, v in report.items() if k != "cases"}))
    objects = build_runtime(o)
    build_all(o, objects, cases)
    if o.build_only:
        return 0
    say(HEAD)
    run_all(o, cases)
    if o.compile:
        run_compiled(o, cases)
    if o.xla:
        run_xla(o, cases)
    report["sanitizer"] = sanitize_all(o, objects)
    for c in cases:
        c.pop("library", None)
    with open(o.json, "w") as f:
        json.dump(report, f, indent=1)
    say("\n" + HEAD)
    for c in cases:
        say(row(c))
    bad = [c for c in cases + report.get("sanitizer", []) if not c.get("ok")]
    say(f"{len(cases) - len([c for c in cases if not c.get('ok')])} of "
        f"{len(cases)} right")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
