#!/usr/bin/env python3
"""Two builds of dcc beside each other: networks and single kernels, in turns.

    tests/bench/sides.py --before OLD-TREE --after . --json sides.json
    tests/bench/sides.py ... --build-only --work W    # where there is no GPU
    tests/bench/sides.py ... --work W                 # and what was built there

A tree has build/dcc and runtime/; for each case (a network MODEL.TYPE.bBATCH
of examples/, or a shape of shapes.py) each tree's dcc emits a program with
--main, which nvcc builds as a library, all in parallel. A process for each
side loads its own and calls their main for `--random 1 --bench N`, which
prints the median of N graphs. The two take turns, so that both have the GPU as
it is then; single kernels have SETS sets of tensors in one graph, so that no
side finds its own in the caches.

Networks are the later tree's texts, or each tree's own where the earlier dcc
does not take them. Prints after / before for each case, their geomean, and
which cases are over 3% slower in every round; exit status 1 if there are any,
or the geomean is over 1, 3 without a GPU.
"""
import argparse
import concurrent.futures as futures
import ctypes
import glob
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, "tests", "gpu")]
import shapes as spec           # noqa: E402
from run import say, shell, tail  # noqa: E402

SETS, SLOWER = 4, 1.03
NETWORKS = """resnet18 resnet50 vgg16 mobilenetv2 bert_base gpt2 gpt2_decode
vit_b16 mlp_dlrm""".split()
ROWS = "middle,few,skinny,conv,dw,gelu"
SIDES = ("before", "after")


def rotated(shape):
    """The shape's program, SETS times with tensors of its own."""
    head, _, body = shape.dcl().partition("model bench {\n")
    names = re.findall(r"^  (?:input|output) (\w+)", body, re.M)
    lines = body.rstrip().rstrip("}").rstrip().split("\n")
    text = [re.sub(r"\b(" + "|".join(names) + r")\b(?!\()", rf"\g<1>{i}", x)
            for i in range(SETS) for x in lines]
    return head + "model bench {\n" + "\n".join(text) + "\n}\n"


def texts(o, case):
    """The case's .dcl for each side, and options; the later tree's first."""
    if re.fullmatch(r"\w+\.\w+\.b\d+", case):
        model, kind, batch = case.split(".")
        found = [os.path.join(t, "examples", model + ".dcl")
                 for t in (o.after, o.before)]
        return found, [f"-DE={kind}", f"-DB={batch[1:]}"]
    path = os.path.join(o.work, case + ".dcl")
    shape = spec.Shape(case)
    with open(path, "w") as f:
        f.write(rotated(shape))
    exact = shape.math in ("f16", "exact")
    return [path], [] if exact else [f"--math={shape.math}"]


def build(o, case, side):
    """None, or what went wrong."""
    tree, stem = getattr(o, side), os.path.join(o.work, f"{case}.{side}")
    if os.path.exists(stem + ".so"):
        return None
    paths, flags = texts(o, case)
    for path in paths:
        status, text = shell([os.path.join(tree, "build", "dcc"), path,
                              "--main", *flags, "-o", stem + ".cu"], 120)
        if not status:
            break
    else:
        return f"dcc: {tail(text, 3)}"
    runtime = os.path.join(tree, "runtime")
    parts = [f for kind in ("base", "rt*", "safetensors*")
             for f in sorted(glob.glob(os.path.join(runtime, kind + ".c")))]
    status, text = shell(
        ["nvcc", "-O3", "-std=c++17", "-gencode",
         "arch=compute_90a,code=sm_90a", "-cudart", "shared", "-shared",
         "-Xcompiler", "-fPIC,-fvisibility=default", "-Xlinker", "-Bsymbolic",
         "-I", runtime, stem + ".cu", *parts, "-o", stem + ".so"], 600)
    return f"nvcc: {tail(text, 4)}" if status else None


def worker():
    """A side's process: a line "LIBRARY N" runs that library's main."""
    for line in sys.stdin:
        path, n = line.split()
        words = [path, "--random", "1", "--bench", n]
        argv = (ctypes.c_char_p * (len(words) + 1))(
            *[w.encode() for w in words], None)
        lib = ctypes.CDLL(path)
        status = lib.main(len(words), argv)
        ctypes.CDLL(None).fflush(None)
        print(f"\nstatus {status}", flush=True)


def start():
    return subprocess.Popen([sys.executable, os.path.abspath(__file__),
                             "--worker"], stdin=subprocess.PIPE, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def measure(process, library, n):
    """Microseconds of the median graph, or None."""
    process.stdin.write(f"{library} {n}\n")
    process.stdin.flush()
    us = None
    for line in process.stdout:
        found = re.search(r"median ([\d.]+) us", line)
        us = float(found[1]) if found else us
        if line.startswith("status "):
            return us
    return None


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def run_cases(o, cases, report):
    process = {s: start() for s in SIDES}
    for case in cases:
        us = {s: [] for s in SIDES}
        for _ in range(o.rounds):
            for side in SIDES:
                us[side].append(measure(
                    process[side], os.path.join(o.work, f"{case}.{side}.so"),
                    o.n))
        if None in us["before"] + us["after"]:
            say(f"{case:34} did not run: {us}")
            report[case] = dict(us, error="did not run")
            process = {s: start() for s in SIDES}
            continue
        ratio = [a / b for a, b in zip(us["after"], us["before"])]
        slow = min(ratio) > SLOWER
        report[case] = dict(us, ratio=sorted(ratio)[len(ratio) // 2], slow=slow)
        say(f"{case:34} before {min(us['before']):9.2f} after "
            f"{min(us['after']):9.2f}  {report[case]['ratio']:.3f}"
            f"{'  SLOWER' if slow else ''}")
        with open(o.json, "w") as f:
            json.dump(report, f, indent=1)
    for p in process.values():
        p.kill()


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--before", help="a tree")
    p.add_argument("--after", default=TOP, help="a tree")
    p.add_argument("--models", default=",".join(NETWORKS))
    p.add_argument("--batch", default="1,8")
    p.add_argument("--rows", default=ROWS)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--bench", dest="n", type=int, default=50)
    p.add_argument("--build-only", action="store_true")
    p.add_argument("--work", help="folder to build in, and to leave")
    p.add_argument("--json", default="sides.json")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--worker", action="store_true")
    return p.parse_args()


def main():
    o = options()
    if o.worker:
        return worker()
    own = not o.work
    o.work = os.path.abspath(o.work or tempfile.mkdtemp(prefix="dcc-sides-"))
    os.makedirs(o.work, exist_ok=True)
    cases = [f"{m}.f16.b{b}" for m in o.models.split(",") if m
             for b in o.batch.split(",")]
    cases += [s for r in spec.table() if r.key in o.rows.split(",")
              for s in r.shapes]
    with futures.ThreadPoolExecutor(o.jobs) as pool:
        jobs = {(c, s): pool.submit(build, o, c, s) for c in cases
                for s in SIDES}
        wrong = {k: j.result() for k, j in jobs.items() if j.result()}
    for (case, side), why in wrong.items():
        say(f"{case} {side}: {why}")
    if o.build_only:
        return 0
    if shell(["nvidia-smi", "-L"], 60)[0]:
        say("no GPU: skipped")
        return 3
    report = {}
    run_cases(o, [c for c in cases if not any((c, s) in wrong for s in SIDES)],
              report)
    ratios = [r["ratio"] for r in report.values() if "ratio" in r]
    slow = [c for c, r in report.items() if r.get("slow")]
    say(f"{len(ratios)} cases, after / before {geomean(ratios):.3f} (geomean); "
        f"slower in every round: {', '.join(slow) or 'none'}")
    if own:
        shutil.rmtree(o.work, ignore_errors=True)
    return int(bool(slow) or geomean(ratios) > 1)


if __name__ == "__main__":
    sys.exit(main())
