#!/usr/bin/env python3
"""Times every kernel of some models alone, beside what dcc predicted.

    tests/gpu/launches.py --dcc build/dcc --cases bert_base.f16.b8,... --json F

For each case (MODEL.TYPE.bBATCH) dcc emits a program, nvcc builds it (all in
parallel), and its --profile times each step in a CUDA graph of its own.  The
table has a line for each distinct kernel: launches, microseconds measured and
predicted, and the variant.  This is what the model's constants are held
against.  Needs a GPU and nvcc.
"""
import argparse
import atexit
import concurrent.futures as futures
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUNTIME = os.path.join(TOP, "runtime")
PARTS = [os.path.basename(f)[:-2] for kind in ("base", "rt*", "safetensors*")
         for f in sorted(glob.glob(os.path.join(RUNTIME, kind + ".c")))]


def shell(command, timeout=300):
    r = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                       stderr=subprocess.STDOUT, timeout=timeout)
    if r.returncode:
        raise RuntimeError(" ".join(command) + "\n" + r.stdout[-2000:])
    return r.stdout


def explained(text):
    """--explain's launches in order: name, variant, predicted us, limiter."""
    found = re.findall(
        r"^ +\d+ (\S+)\n    (.*?)  \(\d+ variants\)\n"
        r"    predicted ([\d.]+) us, limited by ([^;]*);", text, re.M)
    return [dict(name=n, variant=v, predicted=float(p), limiter=m)
            for n, v, p, m in found]


def build(o, case):
    model, kind, batch = case.split(".")
    stem = os.path.join(o.work, case)
    try:
        text = shell([o.dcc, os.path.join(TOP, "examples", model + ".dcl"),
                      f"-DE={kind}", f"-DB={batch[1:]}", "--main", "--explain",
                      "--dependent-launch=off", "-o", stem + ".cu",
                      *o.dcc_flag])
        shell(["nvcc", "-O3", "-std=c++17", "-gencode",
               "arch=compute_90a,code=sm_90a", "-I", RUNTIME, stem + ".cu",
               *(os.path.join(o.work, p + ".o") for p in PARTS), "-o", stem])
        return explained(text)
    except (RuntimeError, subprocess.TimeoutExpired) as e:
        print(case, "FAILED", str(e)[-600:], flush=True)
        return None


def measure(o, case, steps, data=("--random", "1")):
    out = shell([os.path.join(o.work, case), *data, "--profile", "20",
                 "--bench", "50"])
    us = [float(x) for x in re.findall(r"^step +\d+ +([\d.]+) us", out, re.M)]
    whole = float(re.search(r"median ([\d.]+) us", out).group(1))
    kernels = {}
    for s, t in zip(steps, us):
        k = kernels.setdefault(s["name"], dict(s, launches=0, measured=0.0))
        k["launches"] += 1
        k["measured"] += t
    return dict(case=case, whole_us=whole, alone_us=round(sum(us), 1),
                predicted_us=round(sum(s["predicted"] for s in steps), 1),
                kernels=list(kernels.values()))


def show(r, lines=14):
    print(f"\n== {r['case']}: graph {r['whole_us']:.1f} us, alone "
          f"{r['alone_us']}, predicted {r['predicted_us']}")
    for k in sorted(r["kernels"], key=lambda k: -k["measured"])[:lines]:
        each = k["measured"] / k["launches"]
        print(f"{k['measured']:9.1f} us = {k['launches']:3} x {each:8.2f} "
              f"(predicted {k['predicted']:8.2f})  {k['name'][-44:]:44} "
              f"{k['variant']}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--dcc", default=os.path.join(TOP, "build/dcc"))
    p.add_argument("--dcc-flag", action="append", default=[])
    p.add_argument("--cases", required=True)
    p.add_argument("--json", default="profile.json")
    p.add_argument("--work", help="folder to build in, and to leave")
    o = p.parse_args()
    if not o.work:
        o.work = tempfile.mkdtemp(prefix="dcc-profile-")
        atexit.register(shutil.rmtree, o.work, ignore_errors=True)
    os.makedirs(o.work, exist_ok=True)
    with futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda part: shell(
            ["nvcc", "-O2", "-c", os.path.join(RUNTIME, part + ".c"), "-o",
             os.path.join(o.work, part + ".o")]), PARTS))
        cases = o.cases.split(",")
        built = list(pool.map(lambda c: build(o, c), cases))
    report = []
    for case, steps in zip(cases, built):
        if steps is None:
            continue
        try:
            report.append(measure(o, case, steps))
            show(report[-1])
        except (RuntimeError, AttributeError, subprocess.TimeoutExpired) as e:
            print(case, "FAILED", str(e)[-600:], flush=True)
    with open(o.json, "w") as f:
        json.dump(report, f, indent=1)


if __name__ == "__main__":
    main()
