#!/usr/bin/env python3
"""Contraction kernels on a GPU, variant by variant, against PyTorch.

    tests/gpu/contract.py --dcc build/dcc --json out.json [SHAPE...]

A SHAPE is gemm:4096x4096x4096 or conv:n32c64h56k64r3s1, with +bias, +gelu or
+relu after it; gemm-nn:, gemm-tn:, gemm-tt: store x or w the other way round.
For each, dcc emits the model's own choice and every variant of --variants that
is legal; nvcc builds them all in parallel; a child process checks each against
PyTorch in double and times it in a CUDA graph of many nodes with rotated
operands, taking turns with PyTorch's kernel.  A variant that faults or hangs
ends only the child, which starts again without it.  Prints a table, writes
JSON; exit status 1 if a result is wrong, 3 without GPU, nvcc or torch.
"""
import argparse
import concurrent.futures as futures
import ctypes
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from run import say, shell

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUNTIME = os.path.join(TOP, "runtime")
TOLERANCE = 1e-3   # norm-relative, of f16 results
SHAPES = """gemm:4096x4096x4096 gemm:8192x8192x8192 gemm:4096x14336x4096
gemm:4096x4096x14336 gemm:2048x2048x2048 gemm:1024x1024x1024 gemm:512x512x512
gemm:1024x768x768 gemm:1024x3072x768 gemm:1024x768x3072 gemm:4096x768x768
gemm:4096x3072x768 gemm:4096x768x3072 gemm:128x768x768 gemm:128x3072x768
gemm:128x768x3072 gemm:64x8192x8192 gemm:4096x4096x4096+bias+gelu
gemm:4096x3072x768+bias+gelu gemm:1024x3072x768+bias+gelu
gemm-nn:2048x2048x2048 gemm-tn:2048x2048x2048 gemm-tt:2048x2048x2048
conv:n1c64h56k64r3s1+bias+relu conv:n1c128h28k128r3s1+bias+relu
conv:n1c256h14k256r3s1+bias+relu conv:n1c512h7k512r3s1+bias+relu
conv:n1c256h56k64r1s1+bias+relu conv:n1c64h56k256r1s1+bias+relu
conv:n1c1024h14k256r1s1+bias+relu conv:n1c512h7k2048r1s1+bias+relu
conv:n32c64h56k64r3s1+bias+relu conv:n32c128h28k128r3s1+bias+relu
conv:n32c256h14k256r3s1+bias+relu conv:n32c512h7k512r3s1+bias+relu
conv:n32c256h56k64r1s1+bias+relu conv:n32c64h56k256r1s1+bias+relu
conv:n32c1024h14k256r1s1+bias+relu conv:n32c512h7k2048r1s1+bias+relu
conv:n32c128h56k128r3s2+bias+relu""".split()
VARIANTS = """bm=256,bn=192 bm=256,bn=128 bm=128,bn=256,consumers=2 bm=128,bn=192
bm=128,bn=160 bm=128,bn=128,schedule=cooperative bm=192,bn=192 bm=192,bn=128
bm=256,bn=64 bm=128,bn=64,schedule=cooperative bm=128,bn=128,schedule=pingpong
bm=128,bn=64,schedule=pingpong bm=64,bn=256,schedule=pingpong
bm=64,bn=128,schedule=pingpong bm=64,bn=64,schedule=pingpong
bm=64,bn=256,consumers=1 bm=64,bn=128,consumers=1 bm=64,bn=64,consumers=1
bm=64,bn=32""".split()
SPLITS = "bm=128,bn=128 bm=128,bn=64 bm=64,bn=128 bm=64,bn=64 bm=64,bn=32".split()


# ---- shapes

def parse(shape):
    kind, rest = shape.split(":")
    size, *ops = rest.split("+")
    s = {"name": shape, "kind": kind, "ops": ops}
    if kind.startswith("gemm"):
        s["M"], s["N"], s["K"] = map(int, size.split("x"))
        s["flops"] = 2.0 * s["M"] * s["N"] * s["K"]
        s["order"] = kind[5:] or "nt"
        return s
    s.update({k: int(v) for k, v in re.findall(r"([a-z])(\d+)", size)})
    s["pad"] = s["r"] // 2
    s["p"] = (s["h"] + 2 * s["pad"] - s["r"]) // s["s"] + 1
    s["flops"] = 2.0 * s["n"] * s["p"] ** 2 * s["k"] * s["c"] * s["r"] ** 2
    return s


def dcl(s):
    """The shape as a model whose operands are all inputs: one kernel."""
    bias = "b" in [o[0] for o in s["ops"]]
    if s["kind"] == "conv":
        w = f"[{s['k']}, {s['r']}, {s['r']}, {s['c']}]"
        x = f"[{s['n']}, {s['h']}, {s['h']}, {s['c']}]"
        y = f"[{s['n']}, {s['p']}, {s['p']}, {s['k']}]"
        at = ", ".join(f"{v}*{s['s']} + {t} - {s['pad']}" for v, t in ("pr", "qs"))
        value = (f"sum(r, s, c) (x[n, {at}, c] or 0) * w[k, r, s, c]"
                 + (" + b[k]" if bias else ""))
        index, width = f"n, p in 0..{s['p']}, q in 0..{s['p']}, k", s["k"]
    else:
        m, n, k = s["M"], s["N"], s["K"]
        xt, wt = s["order"][0] == "t", s["order"][1] == "t"
        x = f"[{k}, {m}]" if xt else f"[{m}, {k}]"
        w = f"[{n}, {k}]" if wt else f"[{k}, {n}]"
        y = f"[{m}, {n}]"
        value = (f"sum(k) x[{'k, i' if xt else 'i, k'}] * "
                 f"w[{'j, k' if wt else 'k, j'}]" + (" + b[j]" if bias else ""))
        index, width = "i, j", n
    lines = ["model one {", f"  input x : f16{x};", f"  input w : f16{w};"]
    if bias:
        lines.append(f"  input b : f16[{width}];")
    act = next((o for o in s["ops"] if o in ("gelu", "relu")), None)
    if act:
        lines += [f"  t[{index}] : f32 = {value};",
                  f"  output y : f16{y} = {act}(t);"]
    else:
        lines.append(f"  output y[{index}] : f16 = {value};")
    return "\n".join(lines + ["}", ""])


# ---- building

def emit(o, s, words):
    """One variant's .cu: a dict, or None if it is not legal."""
    stem = os.path.join(o.work, re.sub(r"\W+", "_", s["name"] + "__" + words))
    with open(stem + ".dcl", "w") as f:
        f.write(dcl(s))
    flags = [] if words == "model" else ["--variant", "contract_wgmma=" + words]
    if words.startswith("mma:"):
        flags = ["--variant", "contract_mma=" + words[4:]]
    status, text = shell([o.dcc, stem + ".dcl", "-o", stem + ".cu", "--target=h200",
                        "--dependent-launch=off", *flags], 60)
    if status:
        return {"shape": s["name"], "words": words, "error": text[:400]}
    cu = open(stem + ".cu").read()
    kernels = re.findall(r"^// Family +(\S+),((?:.|\n//  )+)", cu, re.M)
    if len(kernels) != 1:
        return {"shape": s["name"], "words": words, "error": f"{len(kernels)} kernels"}
    family, variant = kernels[0][0], " ".join(kernels[0][1].replace("//", "").split())
    if words != "model" and not set(re.split("[ ,:]", words)) - {"mma"} <= set(variant.split()):
        return None
    model = float(re.search(r"^// Model +([\d.]+) us", cu, re.M).group(1))
    work = re.search(r"(\d+) bytes of scratch", cu)
    counters = re.search(r"// (\d+), zero before and after", cu)
    launch = re.search(r'extern "C" cudaError_t (\w+_launch)\(([^)]*)\)', cu)
    return {"shape": s["name"], "words": words, "family": family,
            "variant": variant, "predicted_us": model, "stem": stem,
            "launch": launch.group(1),
            "params": [p.split("*")[-1].split()[-1] for p in launch.group(2).split(",")],
            "workspace": int(work.group(1)) if work else 0,
            "counters": int(counters.group(1)) if counters else 0}


def build(o, objects, v):
    status, text = shell(["nvcc", "-O3", "-std=c++17", "-gencode",
                        "arch=compute_90a,code=sm_90a", "-Xcompiler", "-fPIC",
                        "-Xptxas", "-v", "-I", RUNTIME, "-shared", v["stem"] + ".cu",
                        *objects, "-o", v["stem"] + ".so"])
    v["spills"] = sum(int(n) for n in re.findall(r"(\d+) bytes spill stores", text))
    v["warnings"] = sorted(set(re.findall(r"C75\d\d", text)))
    regs = re.findall(r"Used (\d+) registers", text)
    v["registers"] = max(map(int, regs)) if regs else 0
    if status:
        v["error"] = "nvcc: " + text[-400:]
    return v


def build_all(o):
    objects = []
    for name in sorted(os.listdir(RUNTIME)):
        if re.fullmatch(r"(base|rt.*|safetensors.*)\.c", name):
            objects.append(os.path.join(o.work, name[:-2] + ".o"))
    with futures.ThreadPoolExecutor(o.jobs) as pool:
        made = [pool.submit(shell, ["nvcc", "-O2", "-Xcompiler", "-fPIC", "-c",
                                  os.path.join(RUNTIME, os.path.basename(x)[:-2] + ".c"),
                                  "-o", x]) for x in objects]
        todo = []
        for s in o.shapes:
            words = ["model"] + list(o.variants)
            if s["kind"].startswith("gemm") and s["flops"] < 2e10 or s["kind"] == "conv":
                words += [f"{v},split={n}" for v in SPLITS for n in o.splits]
            words += [f"{v},cluster=2" for v in o.variants]
            words[1:1] = [f"{v},cluster=1,split=1" for v in o.variants]
            if o.mma:
                words += ["mma:split=1"]
            todo += [(s, w) for w in words]
        found = list(pool.map(lambda t: emit(o, *t), todo))
        for m in made:
            if m.result()[0]:
                raise SystemExit("nvcc cannot build the runtime:\n" + m.result()[1])
        seen, refused, list_ = set(), set(), []
        for v in found:
            if v and "error" in v:
                if (v["shape"], v["error"][:80]) in refused:
                    continue
                refused.add((v["shape"], v["error"][:80]))
                say("not emitted:", v["shape"], v["words"], v["error"].strip()[:300])
                continue
            if not v or v["words"] != "model" and (v["shape"], v["family"], v["variant"]) in seen:
                continue
            seen.add((v["shape"], v["family"], v["variant"]))
            list_.append(v)
        list_ = cheapest(o, list_)
        say(f"{len(list_)} kernels to build")
        return list(pool.map(lambda v: build(o, objects, v), list_))


def cheapest(o, kernels):
    """Of each shape the model's own choice and the --most others it likes best."""
    kept = []
    for s in o.shapes:
        mine = [v for v in kernels if v["shape"] == s["name"]]
        rest = sorted((v for v in mine if v["words"] != "model"),
                      key=lambda v: v["predicted_us"])
        # the likeliest of each kind, then the likeliest of all
        first = []
        for want in (["cluster=1", "schedule=cooperative", "consumers=2"],
                     ["cluster=1", "schedule=pingpong"],
                     ["cluster=2", "schedule=cooperative"],
                     ["cluster=2", "schedule=pingpong"], ["consumers=1", "split=1"],
                     ["bm=128", "bn=256", "cluster=1"]):
            first += [v for v in rest if set(want) <= set(v["variant"].split())
                      and v not in first][:1]
        rest = first + [v for v in rest if v not in first]
        kept += [v for v in mine if v["words"] == "model"] + rest[:o.most]
    return kept


# ---- running: in a child process

def child(o):
    import torch
    import torch.nn.functional as F
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    plan = json.load(open(o.child))
    shapes = {s["name"]: s for s in plan["shapes"]}
    log = open(plan["log"], "a")

    def note(**k):
        log.write(json.dumps(k) + "\n")
        log.flush()

    def tensors(s, sets):
        torch.manual_seed(1)
        def rand(*d):
            return torch.randn(*d, device="cuda", dtype=torch.float16)
        all_ = []
        for _ in range(sets):
            t = {}
            if s["kind"] == "conv":
                t["x"] = rand(s["n"], s["h"], s["h"], s["c"])
                t["w"] = rand(s["k"], s["r"], s["r"], s["c"])
                t["y"] = torch.zeros(s["n"], s["p"], s["p"], s["k"], device="cuda",
                                     dtype=torch.float16)
                width = s["k"]
            else:
                t["x"] = rand(*((s["K"], s["M"]) if s["order"][0] == "t" else (s["M"], s["K"])))
                t["w"] = rand(*((s["N"], s["K"]) if s["order"][1] == "t" else (s["K"], s["N"])))
                t["y"] = torch.zeros(s["M"], s["N"], device="cuda", dtype=torch.float16)
                width = s["N"]
            scale = (s["K"] if s["kind"] != "conv" else s["c"] * s["r"] ** 2) ** -0.5
            t["w"] *= scale
            t["b"] = rand(width)
            all_.append(t)
        return all_

    def after(s, y, b):
        if "bias" in s["ops"]:
            y = y + b
        if "relu" in s["ops"]:
            y = F.relu(y)
        return F.gelu(y) if "gelu" in s["ops"] else y

    def exact(s, t):
        x, w = t["x"].double(), t["w"].double()
        if s["kind"] == "conv":
            y = F.conv2d(x.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2), stride=s["s"],
                         padding=s["pad"]).permute(0, 2, 3, 1)
        else:
            y = (x.t() if s["order"][0] == "t" else x) @ (w.t() if s["order"][1] == "t" else w)
        return after(s, y, t["b"].double())

    def rival(s, t):
        """PyTorch's best single call, then its elementwise kernels."""
        if s["kind"] == "conv":
            x, w = t["x"].permute(0, 3, 1, 2), t["w"].permute(0, 3, 1, 2)
            if s["ops"] == ["bias", "relu"]:
                return torch.cudnn_convolution_relu(x, w, t["b"], (s["s"],) * 2,
                                                    (s["pad"],) * 2, (1, 1), 1)
            return after(s, F.conv2d(x, w, stride=s["s"], padding=s["pad"]),
                         t["b"][:, None, None])
        x = t["x"].t() if s["order"][0] == "t" else t["x"]
        w = t["w"].t() if s["order"][1] == "t" else t["w"]
        if "bias" in s["ops"]:
            y = torch.addmm(t["b"], x, w)
            return F.gelu(y) if "gelu" in s["ops"] else F.relu(y) if "relu" in s["ops"] else y
        return after(s, x @ w, t["b"])

    def launcher(v):
        lib = ctypes.CDLL(v["stem"] + ".so")
        f = getattr(lib, v["launch"])
        work = torch.empty(max(v["workspace"], 1), dtype=torch.uint8, device="cuda")
        counters = torch.zeros(max(v["counters"], 1), dtype=torch.int32, device="cuda")
        def call(t):
            at = {"workspace": work, "counters": counters}
            args = []
            for p in v["params"][:-1]:
                q = at[p] if p in at else t[p.rstrip("_")]
                args.append(ctypes.c_void_p(q.data_ptr()))
            args.append(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
            status = f(*args)
            if status:
                raise RuntimeError(f"launch: cuda error {status}")
        call.keep = (lib, work, counters)
        return call

    def graph_of(f, sets, nodes):
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for t in sets[:3]:
                f(t)
        torch.cuda.synchronize()
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            for i in range(nodes):
                f(sets[i % len(sets)])
        g.replay()
        torch.cuda.synchronize()
        return g

    def replay(g, nodes):
        a, b = torch.cuda.Event(True), torch.cuda.Event(True)
        a.record()
        g.replay()
        b.record()
        b.synchronize()
        return a.elapsed_time(b) * 1e3 / nodes

    for name, s in shapes.items():
        mine = [v for v in plan["kernels"] if v["shape"] == name]
        if not mine:
            continue
        est = max(s["flops"] / 6e8, 3.0)      # us
        nodes = int(max(6, min(64, 2500 / est)))
        one = tensors(s, 1)[0]
        size = sum(x.numel() * x.element_size() for x in one.values())
        sets = [one] + tensors(s, int(max(3, min(nodes, 240e6 / size))) - 1)
        want = exact(s, one)
        norm = want.norm().item()
        good = []
        for v in mine:
            note(start=v["stem"])
            try:
                call = launcher(v)
                one["y"].fill_(float("nan"))
                call(one)
                torch.cuda.synchronize()
                error = ((one["y"].double() - want).norm() / norm).item()
                if v["counters"]:        # the counters reset themselves
                    call(one)
                    torch.cuda.synchronize()
                    error = max(error, ((one["y"].double() - want).norm() / norm).item())
            except Exception as e:       # a launch that the driver refuses
                note(stem=v["stem"], error=str(e)[:200])
                if "CUDA error" in str(e):
                    os._exit(9)
                continue
            note(stem=v["stem"], norm_error=error)
            if error == error and error <= TOLERANCE:
                good.append((v, call))
        note(start=name)
        graphs = [("torch", graph_of(lambda t: rival(s, t), sets, nodes))]
        for v, call in good:
            note(start=v["stem"])
            graphs.append((v["stem"], graph_of(call, sets, nodes)))
        times = {k: [] for k, _ in graphs}
        for _ in range(plan["rounds"]):
            for k, g in graphs:
                note(start=k)
                times[k].append(replay(g, nodes))
        for k, t in times.items():
            note(stem=k, shape=name, us=statistics.median(t), least_us=min(t))
        note(done=name)
        del graphs, sets, want
        torch.cuda.empty_cache()


def run_children(o, kernels):
    log = os.path.join(o.work, "log")
    open(log, "w").close()
    left, shapes, faults = list(kernels), list(o.shapes), {}
    while shapes:
        plan = {"shapes": shapes, "kernels": left, "log": log, "rounds": o.rounds}
        path = os.path.join(o.work, "plan.json")
        json.dump(plan, open(path, "w"))
        size, start = os.path.getsize(log), time.time()
        err = open(os.path.join(o.work, "err"), "w+")
        p = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--child", path],
                             stdout=err, stderr=err)
        limit = 90      # the import of torch, once
        while p.poll() is None:
            time.sleep(0.2)
            now = os.path.getsize(log)
            if now != size:
                size, start, limit = now, time.time(), 25
            if time.time() - start > limit:
                p.kill()
        lines = [json.loads(x) for x in open(log)]
        done = {x["done"] for x in lines if "done" in x}
        shapes = [s for s in shapes if s["name"] not in done]
        if p.returncode == 0:
            break
        err.seek(0)
        last = [x["start"] for x in lines if "start" in x][-1:]
        text = err.read().strip().splitlines()[-1:]
        bad = [v for v in left if last and v["stem"] == last[0]]
        say("fault:", last, p.returncode, text)
        if not bad:
            if not shapes or faults.get(shapes[0]["name"]):
                break
            faults[shapes[0]["name"]] = True
            shapes = shapes[1:]
            continue
        bad[0]["error"] = "fault or hang: " + " ".join(text)[:200]
        left = [v for v in left if v is not bad[0]]
    return [json.loads(x) for x in open(log)]


# ---- the report

def report(o, kernels, lines):
    by_stem = {v["stem"]: v for v in kernels}
    torch_us = {}
    for x in lines:
        v = by_stem.get(x.get("stem"))
        if x.get("stem") == "torch":
            torch_us[x["shape"]] = x["us"]
        elif v is not None:
            v.update({k: x[k] for k in ("norm_error", "us", "least_us", "error") if k in x})
    wrong = 0
    for s in o.shapes:
        mine = [v for v in kernels if v["shape"] == s["name"]]
        rival = torch_us.get(s["name"])
        say(f"\n== {s['name']}: {s['flops'] / 1e9:.2f} GFLOP, torch "
            + (f"{rival:.2f} us {s['flops'] / rival / 1e6:.0f} TFLOP/s" if rival else "not measured"))
        for v in sorted(mine, key=lambda v: v.get("us", 1e9)):
            bad = v.get("error") or ("" if v.get("norm_error", 9) <= TOLERANCE
                                     else f"wrong: {v.get('norm_error')}")
            wrong += bool(bad)
            us = v.get("us")
            if us:
                v["tflops"] = s["flops"] / us / 1e6
                v["ratio"] = rival / us if rival else None
            say(f"  {us or 0:9.2f} us {v.get('tflops', 0):6.1f} TFLOP/s"
                f"  x{v.get('ratio') or 0:5.3f}  model {v['predicted_us']:8.2f}"
                f"  r{v['registers']}{' SPILLS ' + str(v['spills']) if v['spills'] else ''}"
                f"{' ' + ','.join(v['warnings']) if v['warnings'] else ''}"
                f"  {'MODEL ' if v['words'] == 'model' else ''}{v['family'][9:]} {v['variant']}"
                f"{'  ' + bad if bad else ''}")
    say("\n== summary: torch / dcc; best of all, and the model's first pick")
    logs = {"best": [], "first": []}
    for s in o.shapes:
        mine = [v for v in kernels if v["shape"] == s["name"] and v.get("ratio")]
        if not mine:
            continue
        best = max(mine, key=lambda v: v["ratio"])
        first = next((v for v in mine if v["words"] == "model"), None)
        logs["best"].append(best["ratio"])
        logs["first"] += [first["ratio"]] if first else []
        say(f"  {s['name']:42s} best {best['ratio']:.3f}  first "
            f"{first['ratio'] if first else 0:.3f}   {best['variant']}")
    for k, r in logs.items():
        if r:
            say(f"  geomean {k}: {statistics.geometric_mean(r):.3f} over {len(r)}")
    if o.json:
        json.dump({"torch_us": torch_us, "kernels": kernels}, open(o.json, "w"), indent=1)
    return wrong


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("shapes", nargs="*", default=None)
    p.add_argument("--dcc", default=os.path.join(TOP, "build", "dcc"))
    p.add_argument("--json")
    p.add_argument("--variants", default=" ".join(VARIANTS), help="words of variants")
    p.add_argument("--splits", default="2,3,4,6,8")
    p.add_argument("--most", type=int, default=8, help="variants of a shape")
    p.add_argument("--mma", action="store_true", help="contract_mma's first pick too")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--emit-only", action="store_true", help="no GPU: emit and build")
    p.add_argument("--work")
    p.add_argument("--child", help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.child:
        return child(o)
    o.shapes = [parse(s) for s in (o.shapes or SHAPES)]
    o.variants = o.variants.split()
    o.splits = [n for n in o.splits.split(",") if n]
    o.dcc = os.path.abspath(o.dcc)
    if not shutil.which("nvcc"):
        say("no nvcc: skipped")
        return 3
    if not o.emit_only and shell(["nvidia-smi", "-L"], 60)[0]:
        say("no GPU: skipped")
        return 3
    o.work = o.work or tempfile.mkdtemp(prefix="dcc-contract-")
    os.makedirs(o.work, exist_ok=True)
    start = time.time()
    kernels = build_all(o)
    say(f"built in {time.time() - start:.0f} s")
    for v in kernels:
        if v.get("error") or v["spills"] or v["warnings"]:
            say("build:", v["shape"], v["variant"], v.get("error", ""),
                f"spills {v['spills']}", v["warnings"])
    if o.emit_only:
        return int(any(v.get("error") for v in kernels))
    good = [v for v in kernels if not v.get("error")]
    lines = run_children(o, good)
    wrong = report(o, good, lines)
    say(f"{time.time() - start:.0f} s in all")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
