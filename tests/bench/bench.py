#!/usr/bin/env python3
"""Single kernels of dcc beside cuBLAS, cuDNN and PyTorch on a GPU.

    tests/bench/bench.py --dcc build/dcc --json bench.json
    tests/bench/bench.py --rows big,conv --shapes 4096x --plan-dir plans
    tests/bench/bench.py --variants 8 --json variants.json
    tests/bench/bench.py --rows holdout --seed 7f408f12

For every shape of the table (shapes.py) dcc emits a program, nvcc builds a
shared library, all in parallel; one process measures dcc and its rivals in
turns: graphs of 64 nodes and more (fewer only where one would take more than
120 ms), weights rotated over 240 MB as far as the nodes reach, 4 sets of
activations, random data, each side checked against the product in double
before. A ratio is the median over rounds of rival's time / dcc's. Rivals:
PyTorch's kernels, 32 cublasLt heuristics, torch.cudnn_convolution_relu; the
two quickest of them and PyTorch stay for the turns.

--rows holdout are shapes that nobody tuned for (holdout.py), drawn by --seed,
the first 8 hex digits of the commit that is measured.

--variants N measures for some shapes N variants of dcc's, most of them those
predicted quickest, and compares prediction and measurement; --write-plans DIR
keeps the quickest as plans, which --plan-dir DIR takes as the tuned ones.

Prints tables, writes JSON after every shape; exit status 1 if a result is
wrong, 3 without GPU, nvcc or torch. --cpu tries the script itself on small
shapes without a GPU.
"""
import argparse
import atexit
import concurrent.futures as futures
import glob
import json
import os
import queue
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
RUNTIME = os.path.join(TOP, "runtime")
sys.path[:0] = [HERE, os.path.join(TOP, "tests", "gpu")]
import run                  # noqa: E402
import shapes as spec       # noqa: E402
from run import say, shell, tail  # noqa: E402

CALIBRATE = """gemm.f16.4096x4096x4096 gemm.f16.4096x4096x14336
gemm.f16.2048x2048x2048 gemm.f16.1024x1024x1024 gemm.f16.4096x3072x768
gemm.f16.1024x768x3072 gemm.f16.128x3072x768 gemm.f16.16x4096x4096
conv.f16.n1c256h14k256r3s1 conv.f16.n32c64h56k64r3s1
conv.f16.n32c256h56k64r1s1 conv.f16.n32c1024h14k256r1s1""".split()
SMALL = {"big": "gemm.f16.136x64x96", "middle": "gemm.f16.64x96x64",
         "few": "gemm.f16.40x64x64", "skinny": "gemm.f16.1x64x64",
         "conv": "conv.f16.n2c16h8k24r3s1 conv.f16.n1c3h14k8r7s2 "
                 "conv.f16.n2c32h6k16r1s1",
         "dw": "dw.f16.n2c24h9r3s2 dw.f16.n1c16h8r3s1",
         "rows": "softmax.f16.33x96 norm.f16.8x160 rms.f16.16x64",
         "stats": "stats.f16.200x24",
         "up": "up.f16.n2c16h5k24r2s2p0 up.f16.n1c32h4k16r4s2p1",
         "wg": "wg.f16.n2c16h8k24r3s1 wg.f16.n1c3h14k8r7s2",
         "wm": "wm.f16.40x64x72", "dg": "dg.f16.n2c16h8k24r3s2",
         "f32": "gemm.f32.65x72x64", "3xtf32": "gemm.3xtf32.64x64x64",
         "tf32": "gemm.tf32.64x72x64",
         "holdout-gemm": "gemm.f16.72x104x88",
         "holdout-conv": "conv.f16.n1c16h9k24r3s2 conv.f16.n1c4h8k16r2s2p0",
         "holdout-dw": "dw.f16.n1c24h9r5s2", "holdout-f32": "gemm.f32.40x24x72",
         "holdout-tf32": "gemm.tf32.40x24x72",
         "attention": "at.f16.b1h2g1m40j56d64c0w0 at.f16.b1h2g2m64j64d32c1w0",
         "decode": "at.f16.b2h4g2m1j100d64c0w0",
         "flex": "relbias.f16.b1h2g2m48j48d64c0w0 "
                 "alibi.f16.b1h2g2m48j48d64c1w0 cap.f16.b1h2g2m48j48d64c1w0 "
                 "doc.f16.b1h2g2m48j48d64c0w0",
         "holdout-attention": "at.f16.b1h2g1m70j70d40c1w20",
         "gelu": "gelu.f16.136x64x96 gelu.f16.64x96x64 gelu.f16.40x64x64 "
                 "gelu.f16.1x64x64"}


# ---- building

class Builder:
    """Emits and builds libraries, and remembers what became of them."""

    def __init__(self, o):
        self.o, self.objects = o, []

    def prepare(self):
        if not self.o.cpu:
            self.objects = run.build_runtime(self.o)

    def source(self, name):
        path = os.path.join(self.o.work, name + ".dcl")
        role = "param" if self.o.params else "input"
        own = f"{path}.{threading.get_ident()}"
        with open(own, "w") as f:
            f.write(spec.Shape(name).dcl(role))
        os.replace(own, path)  # another thread's dcc may be reading it
        return path

    def dcc(self, name, *more):
        shape = spec.Shape(name)
        math = [] if shape.math in ("f16", "exact") else \
            [f"--math={shape.math}"]
        return shell([self.o.dcc, f"--target={self.o.target}",
                      "--dependent-launch=off", *math, *self.o.dcc_flag,
                      *more, self.source(name)], 60)

    def build(self, name, stem, *more):
        """A dict: `library`, or `error`; what --explain says of kernels."""
        stem = os.path.join(self.o.work, stem)
        status, text = self.dcc(name, "--explain", "-o", stem + ".cu", *more)
        if status:
            return {"error": f"dcc: exit status {status}: {tail(text, 3)}",
                    "status": status}
        made = {"kernels": explained(text)}
        status, text = self.compile(stem)
        spills = sum(int(n) for n in
                     re.findall(r"(\d+) bytes spill stores", text))
        made["spill_bytes"] = spills
        made["remarks"] = sorted(set(re.findall(r"\bC75\d\d\b", text)))
        if status:
            made["error"] = f"nvcc: exit status {status}\n{tail(text)}"
        else:
            made["library"] = stem + ".so"
        return made

    def compile(self, stem):
        if self.o.cpu:
            return shell(["env", "CXX=g++ -fPIC -shared",
                          f"DCC_EMU_CACHE={self.o.work}/cache",
                          os.path.join(RUNTIME, "emu", "dcc-emu-cc"), "-I" +
                          RUNTIME, "-o", stem + ".so", stem + ".cu"])
        return shell(["nvcc", "-O3", "-std=c++17",
                      *run.arch_flags(self.o.arch), "-shared", "-Xcompiler",
                      "-fPIC", "-Xptxas", "-v", "-I", RUNTIME, stem + ".cu",
                      *self.objects, "-o", stem + ".so"])

    def cublaslt(self):
        """The path of cublaslt.cu's library, or None."""
        out = os.path.join(self.o.work, "cublaslt.so")
        flags = []
        nvcc = shutil.which("nvcc") or ""
        root = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
        if not os.path.exists(os.path.join(root, "include", "cublasLt.h")):
            found = [f for p in sys.path for f in glob.glob(
                os.path.join(p, "nvidia", "*", "include", "cublasLt.h"))]
            flags = ["-I" + os.path.dirname(f) for f in found[:1]]
        status, text = shell(["nvcc", "-O2", "-shared", "-Xcompiler", "-fPIC",
                              *flags, os.path.join(HERE, "cublaslt.cu"), "-o",
                              out])
        if status:
            say("NO cublasLt RIVALS: cublaslt.cu does not build\n" +
                tail(text))
            return None
        return out


def explained(text):
    """--explain's launches: name, variant, predicted us."""
    return [dict(name=n, variant=v, predicted_us=float(p)) for n, v, p in
            re.findall(r"^ +\d+ (\S+)\n    (.*?)  \(\d+ variants\)\n"
                       r"    predicted ([\d.]+) us", text, re.M)]


def offers(text):
    """--dump=variants' first kernel: (kernel, dcc's choice, all variants)."""
    blocks = re.split(r"^variants of ", text, flags=re.M)[1:]
    if len(blocks) != 1:
        raise ValueError(f"{len(blocks)} kernels instead of one")
    head, _, *lines = blocks[0].rstrip("\n").split("\n")
    kernel, choice = re.match(r"(\S+): \d+; it is (.*)", head).groups()
    found = []
    for line in lines:
        us, hbm, l2, shared, math, latency, pul_us, limiter, text = re.match(
            r" *" + r"(\S+) +" * 7 + r"\d+ +(.*?) +(\w+, .*)", line).groups()
        found.append(dict(text=text, predicted_us=float(us), hbm=float(hbm),
                          l2=float(l2), shared=float(shared),
                          math=float(math), latency=float(latency),
                          pul_us=float(pul_us), limiter=limiter))
    return kernel, choice, found


def pick_variants(found, choice, n):
    """dcc's choice, the best of each family that may beat it, and what the
    model ranks next; an eighth of them from further down, where it may be
    wrong. Variants that differ in stages alone count as one."""
    chosen = [v for v in found if v["text"] == choice]
    best = found[0]["predicted_us"]

    def form(v):
        return re.sub(r" stages=\d+", "", v["text"])

    def add(v, most):
        if len(chosen) < most and form(v) not in [form(c) for c in chosen]:
            chosen.append(v)
    seen = set()
    for v in found:
        family = v["text"].split(",")[0]
        if family not in seen and v["predicted_us"] < 1.4 * best:
            seen.add(family)
            add(v, n)
    near = [v for v in found if v["predicted_us"] < 1.6 * best]
    far = n // 8
    for v in near:
        add(v, n - far)
    step = max(1, len(near) // (far + 1))
    for v in near[step::step]:
        add(v, n)
    return chosen


# ---- the measuring process

class Worker:
    """measure.py; a hang or a fault ends only it, and it starts again."""

    def __init__(self, o):
        self.o, self.process, self.ceilings, self.lt = o, None, None, None
        self.at = None

    def start(self):
        options = {"ms": self.o.ms, "cpu": self.o.cpu,
                   "params": self.o.params}
        self.log = os.path.join(self.o.work, "measure.log")
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "measure.py"),
             json.dumps(options)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=open(self.log, "w"), text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, args=(self.process, self.lines),
                         daemon=True).start()
        self.fresh = True

    @staticmethod
    def _read(process, lines):
        for line in process.stdout:
            if line.startswith("{"):
                lines.put(json.loads(line))
        lines.put(None)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process = None

    def _next(self, seconds):
        left = min(seconds, self.o.deadline - time.time())
        try:
            return self.lines.get(timeout=max(0.1, left))
        except queue.Empty:
            return None

    def begin(self):
        """Versions, or None: no torch or no GPU."""
        if not self.process:
            self.start()
        message = self._next(90)
        self.fresh = False
        if not message:
            say("measure.py does not start:\n" + tail(open(self.log).read()))
            return None
        self.ceilings = self._exchange({"ceilings": self.ceilings,
                                        "lt": self.lt})
        return message["ready"]

    def _exchange(self, job):
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        while True:
            message = self._next(self.o.patience)
            if message and "at" in message:
                self.at = message["at"]
                continue
            if message and not message["again"]:
                return message["done"]
            if message:
                self.stop()
                return message["done"]
            return self._lost()

    def _lost(self):
        """The process hangs or has ended."""
        try:
            self.process.wait(1)
        except subprocess.TimeoutExpired:
            pass
        status = self.process.poll()
        self.stop()
        if time.time() >= self.o.deadline - 0.2:
            return {"error": "no time left"}
        how = "hangs" if status is None else f"ended with status {status}"
        return {"error": f"{self.at}: {how} {tail(open(self.log).read(), 3)}"}

    def ask(self, job):
        if time.time() > self.o.deadline:
            return {"error": "no time left"}
        self.at = None
        try:
            if not self.process and not self.begin():
                return {"error": "the measuring process does not start"}
            return self._exchange(job)
        except (BrokenPipeError, OSError) as e:
            self.stop()
            return {"error": f"the measuring process ended: {e}"}


# ---- the report

def number(value, form="%.2f"):
    return "-" if value is None else form % value


HEAD = (f"{'shape':30} {'dcc us':>9} {'pred':>9} {'best us':>9} {'ratio':>6} "
        f"{'own':>5} {'plain':>5} {'TF/s':>6} {'GB/s':>5} {'ceil':>5} "
        f"{'error':>8}  rival; dcc's variant")


def shape_line(name, case, side="untuned"):
    r, made = case.get(side), case.get("build", {})
    if not r:
        return f"{name:30} {case.get('error', 'not measured')}"
    kernels = made.get("kernels", [])
    predicted = sum(k["predicted_us"] for k in kernels)
    variant = kernels[0]["variant"] if len(kernels) == 1 else \
        f"{len(kernels)} kernels"
    if side == "tuned":
        predicted, variant = None, "tuned"
    rival = f"{r.get('rival', '-')} of {case['tried']}"
    line = (f"{name:30} {r['us']:9.2f} {number(predicted):>9} "
            f"{number(r.get('rival_us')):>9} {number(r.get('ratio')):>6} "
            f"{number(r.get('own')):>5} {number(r.get('plain')):>5} "
            f"{r['tflops']:6.1f} {r['gbs']:5.0f} "
            f"{100 * r['of_ceiling']:4.0f}% {r['error']:8.1e}  {rival}; "
            f"{variant}")
    if "copy_us" in r:
        line += (f"; {r['of_same_copy']:.2f} of a copy of as many bytes "
                 f"({r['copy_us']:.2f} us), {r['of_copy']:.2f} of a large one's "
                 f"rate")
    if made.get("spill_bytes"):
        line += f"  SPILLS {made['spill_bytes']} bytes"
    if made.get("remarks"):
        line += "  " + " ".join(made["remarks"])
    if case.get("error"):
        line += f"\n{'':30} {case['error']}"
    return line


def judge(row, cases):
    """The row's bars with the numbers reached. A shape without a plan counts
    as it is, where others of the row have one."""
    judged = []
    there = {n: cases[n] for n in row.shapes if n in cases}
    first = {n: c.get("untuned") or {} for n, c in there.items()}
    tuned = {n: c.get("tuned") or first[n] for n, c in there.items()}
    if not any("tuned" in c for c in there.values()):
        tuned = {n: {} for n in there}
    whole = len(there) == len(row.shapes)
    for bar in row.bars:
        entry = dict(bar=bar.text, tuned=bar.tuned, limit=bar.limit,
                     value=bar.value(tuned if bar.tuned else first))
        if bar.tuned:   # what the first pick reaches of the tuned bar
            entry["untuned_value"] = bar.value(first)
        if entry["value"] is not None:
            entry["met"] = bool(whole and bar.met(entry["value"]))
            entry["part"] = not whole
        judged.append(entry)
    return judged


def row_lines(row, cases):
    """The table's lines of a row: each bar, untuned and tuned."""
    lines = []
    ceil = [cases[n]["untuned"]["of_ceiling"] for n in row.shapes
            if cases.get(n, {}).get("untuned")]
    done = f"{len(ceil)}/{len(row.shapes)}"
    mean = f"{100 * statistics.mean(ceil):.0f}%" if ceil else "-"
    for e in judge(row, cases):
        kind = "tuned" if e["tuned"] else "untuned"
        shown = number(e["value"], "%.3f")
        first = number(e.get("untuned_value") if e["tuned"] else e["value"],
                       "%.3f")
        verdict = ("-" if e["value"] is None else
                   "MET" if e["met"] else "part" if e["part"] else "missed")
        lines.append(f"{row.title:36} {kind:8} {e['bar']:44} {first:>9} "
                     f"{shown if e['tuned'] else '-':>9} {verdict:7} "
                     f"{mean:>5} {done:>6}")
    why = [cases[n]["error"] for n in row.shapes
           if cases.get(n, {}).get("error")]
    if why and not ceil:
        lines.append(f"{'':36} {why[0].splitlines()[0][:120]}")
    return lines


def print_table(rows, cases):
    say(f"\n{'row':36} {'bar for':8} {'bar':44} {'untuned':>9} {'tuned':>9} "
        f"{'verdict':7} {'ceil':>5} {'shapes':>6}")
    for row in rows:
        for line in row_lines(row, cases):
            say(line)


def without_paths(x):
    """A report without what only this machine knows: paths of files."""
    if isinstance(x, list):
        return [without_paths(i) for i in x]
    if not isinstance(x, dict):
        return os.path.basename(x) if isinstance(x, str) and \
            x.startswith("/") else x
    return {k: without_paths(v) for k, v in x.items() if k != "library"}


def write_json(o, report):
    with open(o.json + ".new", "w") as f:
        json.dump(without_paths(report), f, indent=1)
    os.replace(o.json + ".new", o.json)


# ---- the two modes

def build_shapes(o, builder, names):
    """{name: untuned build}, {name: tuned build}."""
    plain = [spec.Shape(n).plain for n in names if n.startswith("gelu.")]
    every = list(dict.fromkeys(list(names) + plain))
    plans = {n: os.path.join(o.plan_dir, n + ".plan") for n in names
             if o.plan_dir}
    plans = {n: p for n, p in plans.items() if os.path.exists(p)}
    with futures.ThreadPoolExecutor(o.jobs) as pool:
        untuned = {n: pool.submit(builder.build, n, n) for n in every}
        tuned = {n: pool.submit(builder.build, n, n + ".tuned",
                                f"--plan={p}") for n, p in plans.items()}
        return ({n: f.result() for n, f in untuned.items()},
                {n: f.result() for n, f in tuned.items()})


def measure_shape(worker, name, built, tuned):
    made = built[name]
    case = {"build": made}
    if "library" not in made:
        unknown = made.get("status") == 2
        case["error"] = (("not supported yet: " if unknown else "") +
                         made["error"])
        return case
    job = {"shape": name, "untuned": made["library"]}
    if tuned.get(name):
        case["tuned_build"] = tuned[name]
        if "library" in tuned[name]:
            job["tuned"] = tuned[name]["library"]
        else:
            case["error"] = "tuned: " + tuned[name]["error"]
    plain = built.get(spec.Shape(name).plain, {})
    if name.startswith("gelu.") and "library" in plain:
        job["plain"] = plain["library"]
    start = time.time()
    case.update(worker.ask(job))
    case["seconds"] = round(time.time() - start, 2)
    return case


def chosen_rows(o):
    rows = [r for r in spec.table() if r.key in o.rows]
    if "holdout" in o.rows:
        rows += spec.holdout_rows(o.seed)
    if o.cpu:
        for r in rows:
            r.shapes = SMALL[r.key].split()
    return rows


def table_mode(o, builder, worker, report):
    rows = chosen_rows(o)
    names = [n for r in rows for n in r.shapes if re.search(o.shapes, n)]
    start = time.time()
    worker.start()
    builder.prepare()
    worker.lt = None if o.cpu else builder.cublaslt()
    built, tuned = build_shapes(o, builder, names)
    say(f"{len(built) + len(tuned)} libraries built in "
        f"{time.time() - start:.0f} s")
    if not begin(worker, report):
        return 3
    cases = report["shapes"] = {}
    say(HEAD)
    for name in names:
        cases[name] = measure_shape(worker, name, built, tuned)
        say(shape_line(name, cases[name]))
        if cases[name].get("tuned"):
            say(shape_line("  tuned", cases[name], "tuned"))
        report["rows"] = [dict(key=r.key, title=r.title, bars=judge(r, cases))
                          for r in rows]
        write_json(o, report)
    print_table(rows, cases)
    return 1 if any("error" in c and "no time left" not in c["error"] and
                    "not supported yet" not in c["error"]
                    for c in cases.values()) else 0


def begin(worker, report):
    versions = worker.begin()
    if not versions:
        return False
    report["machine"].update(versions)
    report["ceilings"] = worker.ceilings
    say(" ".join(f"{k} {v}" for k, v in report["machine"].items()))
    say("ceilings: " + ", ".join(f"{k} {v}" for k, v in
                                 (worker.ceilings or {}).items()))
    return bool(worker.ceilings) and "error" not in worker.ceilings


def rank_correlation(a, b):
    """Spearman's."""
    def ranks(v):
        order = sorted(range(len(v)), key=lambda i: v[i])
        r = [0.0] * len(v)
        i = 0
        while i < len(order):
            j = i
            while j < len(order) and v[order[j]] == v[order[i]]:
                j += 1
            for k in order[i:j]:
                r[k] = (i + j - 1) / 2
            i = j
        return r
    if len(a) < 3:
        return None
    x, y = ranks(a), ranks(b)
    mx, my = statistics.mean(x), statistics.mean(y)
    top = sum((p - mx) * (q - my) for p, q in zip(x, y))
    low = (sum((p - mx) ** 2 for p in x) * sum((q - my) ** 2 for q in y))
    return top / low ** 0.5 if low else None


def build_variants(builder, name, n, pool):
    """Futures of (variant, build)."""
    status, text = builder.dcc(name, "--dump=variants")
    if status:
        raise ValueError(tail(text, 3))
    kernel, choice, found = offers(text)
    jobs = []
    for i, v in enumerate(pick_variants(found, choice, n)):
        family, words = v["text"].split(", ", 1)
        v["chosen"] = v["text"] == choice
        v["rank"] = found.index(v)
        jobs.append((v, pool.submit(builder.build, name, f"{name}.v{i}",
                                    f"--variant={family}={words}")))
    return jobs


def gather_variants(jobs):
    """Those that were built as asked; and remarks on the others."""
    ready, notes = [], []
    for v, future in jobs:
        made = future.result()
        got = [k["variant"] for k in made.get("kernels", [])]
        if "error" in made:
            notes.append(f"{v['text']}: {made['error']}")
        elif got != [v["text"]]:
            notes.append(f"{v['text']}: built as {got}")
        else:
            v["library"], v["spill_bytes"] = made["library"], \
                made["spill_bytes"]
            v["remarks"] = made["remarks"]
            ready.append(v)
    return ready, notes


def measure_variants(worker, name, ready):
    """Asks again without a variant that hangs or faults."""
    while ready:
        result = worker.ask({"shape": name, "variants": ready})
        culprit = [v for v in ready if v["text"] == worker.at]
        if "error" not in result or not culprit:
            return result, []
        say(f"{name}: {culprit[0]['text']}: {result['error']}")
        ready = [v for v in ready if v is not culprit[0]]
    return {"error": "none ran"}, []


def show_variants(name, result):
    """Prints a shape's variants; its summary for the report."""
    rows = sorted((v for v in result["variants"] if v.get("us")),
                  key=lambda v: v["us"])
    if not rows:
        say(f"== {name}: nothing measured")
        return {}
    best = rows[0]["us"]
    first = next((v["us"] for v in rows if v["chosen"]), None)
    rho = rank_correlation([v["predicted_us"] for v in rows],
                           [v["us"] for v in rows])
    loss = first / best if first else None
    say(f"\n== {name}: first pick / best {number(loss, '%.3f')}, rank "
        f"correlation {number(rho)}, PyTorch {number(result['torch_us'])} us")
    say(f"{'us':>9} {'pred':>9} {'p/m':>5} {'rank':>5} {'HBM':>8} {'L2':>8} "
        f"{'shared':>8} {'math':>8} {'lat':>6}  variant")
    for v in rows:
        extra = f"  SPILLS {v['spill_bytes']}" if v["spill_bytes"] else ""
        extra += "".join("  " + r for r in v["remarks"])
        say(f"{v['us']:9.2f} {v['predicted_us']:9.2f} "
            f"{v['predicted_us'] / v['us']:5.2f} {v['rank']:5} "
            f"{v['hbm']:8.2f} {v['l2']:8.2f} {v['shared']:8.2f} "
            f"{v['math']:8.2f} {v['latency']:6.2f}  "
            f"{'* ' if v['chosen'] else '  '}{v['text']}{extra}")
    for v in result["variants"]:
        if v.get("wrong"):
            say(f"    WRONG: {v['wrong']}")
    return dict(loss=loss, rank_correlation=rho)


def variants_mode(o, builder, worker, report):
    names = o.shape_list or [n for n in CALIBRATE if o.shapes == "."] or \
        [n for r in chosen_rows(o) for n in r.shapes if re.search(o.shapes, n)]
    if o.cpu:
        names = ["gemm.f16.64x96x64", "conv.f16.n2c32h6k16r1s1"]
    worker.start()
    builder.prepare()
    start, cases = time.time(), report.setdefault("variants", {})
    jobs = {}
    with futures.ThreadPoolExecutor(o.jobs) as pool:
        for name in names:
            try:
                jobs[name] = build_variants(builder, name, o.variants, pool)
            except ValueError as e:
                say(f"{name}: {e}")
        built = {n: gather_variants(j) for n, j in jobs.items()}
    say(f"{sum(len(r) for r, _ in built.values())} libraries built in "
        f"{time.time() - start:.0f} s")
    if not begin(worker, report):
        return 3
    for name, (ready, notes) in built.items():
        for note in notes:
            say(f"{name}: {note}")
        result, _ = measure_variants(worker, name, ready)
        if "error" in result:
            say(f"== {name}: {result['error']}")
            cases[name] = result
        else:
            cases[name] = dict(result, notes=notes,
                               **show_variants(name, result))
        write_json(o, report)
        write_plan(o, builder, name, cases[name])
    return variants_summary(cases)


def write_plan(o, builder, name, case):
    """--write-plans: the quickest variant, for --plan-dir; of those that were
    not told apart from it, the one predicted quickest."""
    ran = [v for v in case.get("variants", []) if v.get("us")]
    if not o.write_plans or not ran:
        return
    level = [v for v in ran if v.get("level")]
    best = min(level or ran, key=lambda v: v["predicted_us" if level else "us"])
    family, words = best["text"].split(", ", 1)
    os.makedirs(o.write_plans, exist_ok=True)
    status, text = builder.dcc(
        name, f"--variant={family}={words}",
        f"--write-plan={os.path.join(o.write_plans, name + '.plan')}")
    if status:
        say(f"{name}: no plan: {tail(text, 3)}")


def variants_summary(cases):
    losses = [c["loss"] for c in cases.values() if c.get("loss")]
    rhos = [c["rank_correlation"] for c in cases.values()
            if c.get("rank_correlation") is not None]
    if losses:
        say(f"\n{len(losses)} shapes: first pick / best, geomean "
            f"{spec.geomean(losses):.3f}, worst {max(losses):.3f}; mean rank "
            f"correlation {number(statistics.mean(rhos) if rhos else None)}")
    for name, c in cases.items():
        say(f"{name:30} first pick / best {number(c.get('loss'), '%.3f'):>6}  "
            f"rank correlation {number(c.get('rank_correlation')):>5}")
    wrong = [v for c in cases.values() for v in c.get("variants", [])
             if v.get("wrong")]
    return 1 if wrong else 0


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    keys = [r.key for r in spec.table()]
    p.add_argument("--rows", default=",".join(keys),
                   help="of " + ",".join(keys) + ",holdout")
    p.add_argument("--seed", default="",
                   help="8 hex digits, which holdout's shapes are drawn by")
    p.add_argument("--shapes", default=".", metavar="REGEX",
                   help="only these of the rows")
    p.add_argument("--shape-list", default="", metavar="A,B",
                   help="with --variants: these, by their names")
    p.add_argument("--variants", type=int, default=0, metavar="N")
    p.add_argument("--plan-dir", default="",
                   help="SHAPE.plan there gives the tuned result")
    p.add_argument("--write-plans", default="", metavar="DIR",
                   help="with --variants: the quickest as SHAPE.plan")
    p.add_argument("--params", action="store_true",
                   help="weights as parameters that dcc may pack")
    p.add_argument("--dcc", default=os.path.join(TOP, "build/dcc"))
    p.add_argument("--dcc-flag", action="append", default=[])
    p.add_argument("--target", default="h200")
    p.add_argument("--arch", default="90a")
    p.add_argument("--work", help="folder to build in, and to leave")
    p.add_argument("--json", default="bench.json")
    p.add_argument("--budget", type=float, default=240, help="seconds in all")
    p.add_argument("--patience", type=float, default=30,
                   help="seconds after which a kernel hangs")
    p.add_argument("--ms", type=float, default=400,
                   help="of GPU time for a shape's rounds, at least 5")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--commit", default="")
    p.add_argument("--cpu", action="store_true",
                   help="small shapes, emulated: a test of this script")
    o = p.parse_args()
    o.rows = o.rows.split(",")
    unknown = set(o.rows) - set(keys) - {"holdout"}
    if "holdout" in o.rows and not re.fullmatch("[0-9a-f]{8}", o.seed):
        p.error("holdout wants --seed, the commit's first 8 hex digits")
    if unknown:
        p.error("no row is called " + ", ".join(sorted(unknown)))
    o.shape_list = [n for n in o.shape_list.split(",") if n]
    o.deadline = time.time() + o.budget
    return o


def main():
    o = options()
    if not o.cpu and not shutil.which("nvcc"):
        say("no nvcc: skipped")
        return 3
    if not o.cpu and shell(["nvidia-smi", "-L"], 60)[0]:
        say("no GPU: skipped")
        return 3
    if not o.work:
        o.work = tempfile.mkdtemp(prefix="dcc-bench-")
        atexit.register(shutil.rmtree, o.work, ignore_errors=True)
    os.makedirs(o.work, exist_ok=True)
    builder, worker = Builder(o), Worker(o)
    report = {"machine": run.machine(o),
              "protocol": __doc__.split("\n\n")[2].replace("\n", " "),
              "options": {"params": o.params, "ms": o.ms, "seed": o.seed,
                          "dcc_flag": o.dcc_flag}}
    try:
        mode = variants_mode if o.variants else table_mode
        return mode(o, builder, worker, report)
    finally:
        worker.stop()
        if "ceilings" in report:
            say(f"{o.json}: written after "
                f"{time.time() - o.deadline + o.budget:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
