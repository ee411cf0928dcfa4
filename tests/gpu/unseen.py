#!/usr/bin/env python3
"""Programs that nobody has seen, on a GPU, against the oracle.

    unseen.py [--count 200] [--seed 1] [--jobs 16] [--into FOLDER]
              [--cpu] [--work 1e9] [--build | --run] [--seconds 100]
              [--sanitizer racecheck [--only N,N]]

Each is a model of a kind that users write, of odd sizes (unseen_models.py). It
is compiled as it is, and with a random plan; its data are drawn once. What runs
as a graph, and what the trace of a run step by step has of every tensor in
memory, are compared with the oracle, in computed bounds; a model of more than
--work terms only at points of the trace, and the graph's outputs then to the
bit with those of the trace. With --cpu all that is for the emulator. Exit
status 1 where one is wrong."""
import argparse
import collections
import concurrent.futures
import glob
import os
import random
import subprocess
import sys
import time

from unseen_models import KINDS, draw

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))


def sh(args, cwd=None, seconds=None, env=None):
    try:
        r = subprocess.run(args, cwd=cwd, capture_output=True, text=True,
                           errors="replace", timeout=seconds,
                           env=dict(os.environ, **(env or {})))
        return r.returncode, r.stdout + r.stderr
    except subprocess.TimeoutExpired:
        return 124, "longer than %d s" % seconds


def objects(o):
    """The two runtimes, once: of the program, of the oracle."""
    def one(job):
        source, folder, args = job
        out = os.path.join(folder, os.path.basename(source) + ".o")
        rc, log = sh(args + ["-I" + o.runtime, "-c", source, "-o", out])
        assert rc == 0, log
        return out
    jobs = []
    for folder, parts, args in (
            ("ref", ["ref*.c"], ["gcc", "-std=gnu11", "-O2"]),
            ("rt", [] if o.cpu else ["rt*.c"],
             ["nvcc", "-O2", "-Wno-deprecated-gpu-targets"])):
        at = os.path.join(o.into, folder)
        os.makedirs(at, exist_ok=True)
        jobs += [(s, at, args) for p in parts + ["base.c", "safetensors*.c"]
                 for s in sorted(glob.glob(os.path.join(o.runtime, p)))
                 if parts]
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        return list(pool.map(one, jobs))


def build_one(o, number):
    """A line of text for each plan; "ok" or what went wrong."""
    d, plans = draw(o, number)
    at = os.path.join(o.into, "m%d" % number)
    os.makedirs(at, exist_ok=True)
    with open(os.path.join(at, "m.dcl"), "w") as f:
        f.write(d.text())
    with open(os.path.join(at, "terms"), "w") as f:
        f.write("%d %d %s" % (d.terms, d.states, d.kind))
    rc, log = sh([o.dcc, "--emit=ref", "m.dcl", "-o", "oracle.c"], at, 60)
    if rc:
        return [("refused" if rc == 1 else "WRONG", number, -1, log[:600])]
    rc, log = sh(["gcc", "-std=gnu11", "-w", "-O2", "-I" + o.runtime, "-o",
                  "oracle", "oracle.c"] +
                 glob.glob(os.path.join(o.into, "ref", "*.o")) + ["-lm"], at,
                 100)
    if rc:
        return [("WRONG", number, -1, "the oracle: " + log[:600])]
    said = []
    for p, plan in enumerate(plans):
        if o.left() < 0:
            said.append(("late", number, p, ""))
            continue
        name = "p%d" % p
        with open(os.path.join(at, name + ".args"), "w") as f:
            f.write(" ".join(plan))
        rc, log = sh([o.dcc, "--main", "--trace", "m.dcl", "-o",
                      name + ".cu"] + plan, at, 60)
        if rc:
            said.append(("refused" if rc == 1 else "WRONG", number, p,
                         "%s %d: %s" % (plan, rc, log[:600])))
            continue
        if o.cpu:
            make = ["sh", o.runtime + "/emu/dcc-emu-cc", "-O1", "-o", name,
                    name + ".cu"]
        else:
            make = ["nvcc", "-O3", "-std=c++17", "-gencode",
                    "arch=compute_90a,code=sm_90a", "-diag-suppress", "177,550",
                    "-lineinfo", "-I", o.runtime, "-o", name, name + ".cu"
                    ] + glob.glob(os.path.join(o.into, "rt", "*.o"))
        rc, log = sh(make, at, max(o.left() + 30, 5))
        said.append(("built" if rc == 0 else "late" if rc == 124 else "WRONG",
                     number, p, log[:900] if rc else ""))
    return said


def run_one(o, number):
    at = os.path.join(o.into, "m%d" % number)
    if not os.path.exists(at + "/p0") and not os.path.exists(at + "/p1"):
        return []
    terms, states, _ = open(at + "/terms").read().split()
    whole, states = int(terms) <= o.work, int(states)
    said = []
    for p in 0, 1:
        if not os.path.exists("%s/p%d" % (at, p)):
            continue
        if o.left() < 0:
            said.append(("late", number, p, ""))
            continue
        verdict, log = judge(o, at, "p%d" % p, whole, states)
        said.append((verdict, number, p, log))
    for junk in glob.glob(at + "/*.st"):
        os.unlink(junk)
    return said


def judge(o, at, name, whole, states):
    args = open("%s/%s.args" % (at, name)).read().split()
    math = [w for a in args if a.startswith("--math=") for w in a.split("=")]
    env = {"DCC_EMU_ORDER": str(random.Random(at).choice([0, 1, 7])),
           "DCC_EMU_ASYNC": random.Random(at).choice(["eager", "lazy"]),
           "DCC_EMU_LAUNCH": "early", "DCC_EMU_THREADS": "1",
           "OMP_NUM_THREADS": "1"} if o.cpu else {}
    wx = ["--weights", "wx.st", "--in", "wx.st"]
    steps = [
        [["./" + name, "--random", "1", "--save", "wx.st", "--trace", "t.st",
          "--out", "y.st"], "the trace's run"],
        [["./" + name, *wx, "--out", "z.st", "--runs", "3" if states else "1"],
         "the graph's run"],
        [["./oracle", *wx, "--check", "t.st", "--budget",
          "2e7" if whole else "2e6", *math], "the trace"]]
    if whole:
        steps.append([["./oracle", *wx, "--against", "z.st", "--runs",
                       "3" if states else "1", *math], "the outputs"])
    for step, what in steps:
        rc, log = sh(step, at, o.limit, env)
        if rc == 124 and step[0] == "./oracle":
            return "late", what
        if rc:
            return "WRONG", "%s, %d: %s" % (what, rc, log[-700:])
    if not states:
        with open(at + "/y.st", "rb") as y, open(at + "/z.st", "rb") as z:
            if y.read() != z.read():
                return "WRONG", "the graph's outputs are not the trace's"
    return "right", ""


def sanitize_one(o, number):
    at = os.path.join(o.into, "m%d" % number)
    said = []
    for p in 0, 1:
        if not os.path.exists("%s/p%d" % (at, p)) or o.left() < 0:
            continue
        rc, log = sh(["compute-sanitizer", "--tool", o.sanitizer,
                      "--error-exitcode", "9", "./p%d" % p, "--random", "1"],
                     at, 30 if o.left() > 30 else max(o.left(), 3))
        said.append(("right" if rc == 0 else "late" if rc == 124 else "WRONG",
                     number, p, log[:1500] if rc else ""))
    return said


def each(o, what, numbers, jobs):
    """Every number's lines as they come; how many said what."""
    count = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for found in concurrent.futures.as_completed(
                [pool.submit(what, o, n) for n in numbers]):
            for verdict, number, p, log in found.result():
                count[verdict] += 1
                if verdict in ("WRONG",) or (verdict == "refused" and o.show):
                    at = os.path.join(o.into, "m%d" % number)
                    args = "%s/p%d.args" % (at, p)
                    print("%s m%d %s\n%s%s" % (
                        verdict, number,
                        open(args).read() if os.path.exists(args) else "", log,
                        open(at + "/m.dcl").read()), flush=True)
    return count


def main():
    a = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    a.add_argument("--count", type=int, default=200)
    a.add_argument("--first", type=int, default=0)
    a.add_argument("--only", help="numbers, instead of the first ones")
    a.add_argument("--seed", default="1")
    a.add_argument("--jobs", type=int, default=os.cpu_count())
    a.add_argument("--into", default="/tmp/unseen")
    a.add_argument("--dcc", default=os.path.join(TOP, "build", "dcc"))
    a.add_argument("--runtime", default=os.path.join(TOP, "runtime"))
    a.add_argument("--target", help="dcc's, of both plans")
    a.add_argument("--kinds", help="of " + ",".join(KINDS))
    a.add_argument("--cpu", action="store_true")
    a.add_argument("--build", action="store_true", help="that alone")
    a.add_argument("--run", action="store_true", help="what is built")
    a.add_argument("--work", type=float, default=3e8,
                   help="terms up to which outputs are compared as a whole")
    a.add_argument("--most", type=float, help="terms a model has at most")
    a.add_argument("--bytes", type=float, default=2e8)
    a.add_argument("--seconds", type=float, default=1e6)
    a.add_argument("--limit", type=float, default=20, help="of one run")
    a.add_argument("--sanitizer", help="compute-sanitizer's tool")
    a.add_argument("--show", action="store_true", help="what dcc refuses")
    o = a.parse_args()
    o.dcc, o.into = os.path.abspath(o.dcc), os.path.abspath(o.into)
    o.runtime = os.path.abspath(o.runtime)
    os.environ["DCC_RUNTIME_DIR"] = o.runtime
    o.most = o.most or (2e6 if o.cpu else 3e10)
    end = time.time() + o.seconds
    o.left = lambda: end - time.time()
    numbers = [int(n) for n in o.only.split(",")] if o.only else \
        range(o.first, o.first + o.count)
    count = collections.Counter()
    if o.sanitizer:
        count += each(o, sanitize_one, numbers, o.jobs)
    else:
        if not o.run:
            os.makedirs(o.into, exist_ok=True)
            objects(o)
            count += each(o, build_one, numbers, o.jobs)
        if not o.build:
            count += each(o, run_one, numbers, o.jobs)
    print(dict(count), flush=True)
    sys.exit(count["WRONG"] != 0)


if __name__ == "__main__":
    main()
