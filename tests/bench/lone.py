#!/usr/bin/env python3
"""Lone programs of users' kinds: what dcc predicts, takes, and PyTorch takes.

    tests/bench/lone.py                        # no GPU: predicted over floor
    tests/bench/lone.py --gpu --json lone.json # built, checked, timed
    tests/bench/lone.py --cpu small_8x8,t_5d   # emulated, checked

lone/ has a program a file and twins.py, in which PyTorch says the same. Without
a GPU each is compiled for --target and listed, worst first, by what the model
predicts over a floor: inputs, params and outputs through the memory once, the
operations at the tensor cores' rate (f16) or the FMA pipe's (f32), and a launch.

With one, `dcc build` makes libraries in parallel and a process of its own reads
those that are ready. Inputs and params are drawn; outputs are compared with the
twin's in double (norm-relative, of floats alone), what is not within 1e-2 (f16)
or 1e-5 (f32) is wrong; then the median of dcc's graphs and of CUDA graphs of the
twin, us. Nothing is rotated: what fits the L2 is found there by both. Exit
status 1 where one is wrong, 3 without what --gpu or --cpu needs.
"""
import argparse
import concurrent.futures as futures
import ctypes
import glob
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
LONE = os.path.join(HERE, "lone")
BOUND = {"f16": 1e-2, "f32": 1e-5}
sys.path[:0] = [LONE, os.path.join(TOP, "tests", "gpu"),
                os.path.join(TOP, "runtime")]
from run import say, shell, tail  # noqa: E402


def command(o, name, *words):
    return [o.dcc, *words, os.path.join(LONE, name + ".dcl"), f"-DE={o.type}"]


def predicted(o, name):
    """A row: microseconds predicted and of the floor, and the kernels."""
    with tempfile.TemporaryDirectory() as folder:
        status, text = shell([*command(o, name), f"--target={o.target}",
                              "--explain=json", "-o", folder + "/x.cu"], 60)
    if status:
        return {"name": name, "error": tail(text, 2)}
    m = json.loads(text)["models"][0]
    gpu, ends = m["gpu"], ("input", "param", "output")
    moved = sum(t["bytes"] for t in m["tensors"] if t["place"] in ends)
    rate = gpu["tensor_tflops" if o.type == "f16" else "fma_tflops"]
    floor = max(moved / gpu["hbm_gbs"] / 1e3,
                sum(k["flops"] for k in m["run"]) / rate / 1e6) + \
        gpu["launch_us"]
    return {"name": name, "predicted": m["predicted_us"], "floor": floor,
            "kernels": [k["family"] + " " + k["variant"]
                        for k in m["kernels"]]}


def predict(o, names):
    with futures.ThreadPoolExecutor(o.jobs) as pool:
        rows = list(pool.map(lambda n: predicted(o, n), names))
    rows.sort(key=lambda r: -r.get("predicted", 1e9) / r.get("floor", 1))
    for r in rows:
        say(f"{r['name']}: {r['error']}" if "error" in r else
            f"{r['predicted'] / r['floor']:6.2f} {r['predicted']:9.1f} of "
            f"{r['floor']:8.1f} us  {r['name']:24} {'; '.join(r['kernels'])}")
    return rows


def build(o, name):
    """None, or what went wrong."""
    status, text = shell([*command(o, name, "build"), "-o",
                          os.path.join(o.work, name + ".so"),
                          *(["--cpu"] if o.cpu else [])], 600)
    return tail(text, 3) if status else None


def drawn(torch, o, text):
    """Tensors for a program's inputs and params, as they are declared, and
    those of its params alone."""
    types = {"f16": torch.float16, "f32": torch.float32, "i8": torch.int8,
             "bf16": torch.bfloat16, "i32": torch.int32, "bool": torch.bool}
    device, all_of, params = "cpu" if o.cpu else "cuda", {}, {}
    for role, name, kind, dims, more in re.findall(
            r"\b(input|param) (\w+)\s*:\s*(\w+)\s*\[([^\]]*)\]([^;]*);", text):
        kind = types[o.type if kind == "E" else kind]
        shape = [int(eval(d)) for d in dims.split(",") if d.strip()]
        most = re.search(r"in 0\.\.(\d+)", more)
        x = torch.randn(shape, device=device) if kind.is_floating_point else \
            torch.randint(0, int(most[1]) if most else 2 if kind == torch.bool
                          else 100, shape, device=device)
        all_of[name] = x.to(kind)
        if role == "param":
            params[name] = all_of[name]
    return all_of, params


def save(torch, path, tensors):
    """A safetensors file."""
    words = {torch.float16: "F16", torch.float32: "F32", torch.int8: "I8",
             torch.bfloat16: "BF16", torch.int32: "I32", torch.bool: "BOOL"}
    head, data = {}, b""
    for name, x in tensors.items():
        raw = bytes(x.cpu().contiguous().view(torch.uint8).numpy())
        head[name] = {"dtype": words[x.dtype], "shape": list(x.shape),
                      "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)


def dcc_us(o, name, models=1, model=None):
    """The median of the runs of a library's model, by the command line in it;
    None if it fails."""
    stem = os.path.join(o.work, name)
    library, path = ctypes.CDLL(stem + ".so"), stem + ".json"
    words = ["lone", "--random", "1", "--bench", "30", "--json", path,
             *(["--model", model] if model else [])]
    texts = (ctypes.c_char_p * len(words))(*(w.encode() for w in words))
    table = (ctypes.c_void_p * models).in_dll(library, "dcc_library")
    if library.dcc_main(table, models, len(words), texts):
        return None
    with open(path) as f:
        return json.load(f)["median_us"]


def twin_us(torch, twin, tensors):
    for _ in range(3):
        twin(*tensors)
    torch.cuda.synchronize()
    graph, us = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph):
        for _ in range(4):
            twin(*tensors)
    for _ in range(12):
        a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        a.record()
        graph.replay()
        b.record()
        torch.cuda.synchronize()
        us.append(a.elapsed_time(b) * 1e3 / 4)
    return statistics.median(us)


def error_of(torch, got, twin, tensors):
    """The worst output's, or None where there are but integers."""
    wanted = twin(*(x.double() if x.is_floating_point() else x
                    for x in tensors))
    worst = None
    for a, b in zip(got, wanted if isinstance(wanted, tuple) else (wanted,)):
        if not b.is_floating_point():
            continue
        b = b.to(a.dtype)  # what is too large or small for it is for both
        a, b = a.double().flatten(), b.double().flatten()
        of = torch.isfinite(b)
        e = float((a[of] - b[of]).norm() / b[of].norm().clamp_min(1e-30))
        worst = max(worst or 0, e if e == e else float("inf"))
    return worst


def row_of(o, name):
    import dcc
    import torch
    import twins
    torch.manual_seed(1)
    row = {"name": name}
    with open(os.path.join(LONE, name + ".dcl")) as f:
        tensors, params = drawn(torch, o, f.read())
    weights = None
    if params:
        weights = os.path.join(o.work, name + ".safetensors")
        save(torch, weights, params)
    model = dcc.load(os.path.join(o.work, name + ".so")).model(weights)
    made = model(**{k: v for k, v in tensors.items() if k not in params})
    got = [torch.from_dlpack(made[k]).clone() for k in made]
    twin = twins.TWINS[name]
    row["error"] = error_of(torch, got, twin, tensors.values())
    row["wrong"] = (row["error"] or 0) > BOUND[o.type]
    if not o.cpu:
        del model, made, got
        row["dcc"] = dcc_us(o, name)
        row["torch"] = twin_us(torch, twin, list(tensors.values()))
        torch.cuda.empty_cache()
    return row


def rows_of(o):
    """Names from the standard input, a row for each."""
    for line in sys.stdin:
        signal.alarm(200)
        try:
            row = row_of(o, line.strip())
        except Exception as e:  # a twin's memory, a library that is refused
            row = {"name": line.strip(), "wrong": True,
                   "error": f"{type(e).__name__}: {e}"[-300:]}
        print("row " + json.dumps(row), flush=True)


class Reader:
    """A process that measures; begun again where a program ended it."""

    def __init__(self, o):
        self.words = [sys.executable, os.path.abspath(__file__), "--rows",
                      "--work", o.work, "--type", o.type] + \
            (["--cpu", o.cpu] if o.cpu else [])
        self.process = None

    def row(self, name):
        if not self.process or self.process.poll() is not None:
            self.process = subprocess.Popen(
                self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                text=True)
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("row "):
                return json.loads(line[4:])
        return {"name": name, "wrong": True,
                "error": f"ended with {self.process.wait()}"}


def measure(o, names):
    reader, rows = Reader(o), []
    with futures.ThreadPoolExecutor(o.jobs) as pool:
        made = {pool.submit(build, o, n): n for n in names}
        for done in futures.as_completed(made):
            name, error = made[done], done.result()
            rows.append({"name": name, "wrong": True, "error": error}
                        if error else reader.row(name))
            say("  ".join(f"{k} {v}" for k, v in rows[-1].items()))
    rows.sort(key=lambda r: r.get("torch", 0) / (r.get("dcc") or 1e9))
    return rows


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--dcc", default=os.path.join(TOP, "build", "dcc"))
    p.add_argument("--only", help="names, commas between them")
    p.add_argument("--type", default="f16", choices=list(BOUND))
    p.add_argument("--target", default="h200")
    p.add_argument("--gpu", action="store_true")
    p.add_argument("--cpu", metavar="NAMES", help="these, by the emulator")
    p.add_argument("--json")
    p.add_argument("--work", help="folder to build in, and to leave")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--rows", action="store_true", help=argparse.SUPPRESS)
    o = p.parse_args()
    o.work = os.path.abspath(o.work or tempfile.mkdtemp(prefix="dcc-lone-"))
    os.makedirs(o.work, exist_ok=True)
    return o


def main():
    o = options()
    if o.rows:
        return rows_of(o)
    names = (o.cpu or o.only or ",".join(sorted(
        os.path.basename(f)[:-4] for f in glob.glob(LONE + "/*.dcl")))
    ).split(",")
    if o.cpu or o.gpu:
        if subprocess.run([sys.executable, "-c", "import torch"],
                          capture_output=True).returncode:
            say("no torch: skipped")
            return 3
        if o.gpu and shell(["nvidia-smi", "-L"], 60)[0]:
            say("no GPU: skipped")
            return 3
    rows = measure(o, names) if o.cpu or o.gpu else predict(o, names)
    if o.json:
        with open(o.json, "w") as f:
            json.dump(rows, f, indent=1)
    return int(any(r.get("wrong") or "predicted" not in r and not
                   (o.cpu or o.gpu) for r in rows))


if __name__ == "__main__":
    sys.exit(main())
