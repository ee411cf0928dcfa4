#!/usr/bin/env python3
"""What lone programs' kernels take by other variants than the model's pick.

    tests/bench/variants.py --only t_0231,dw_3x3s2 --each 24 --json variants.json

For each program of lone/ (lone.py) dcc lists the legal variants of its kernels;
of the kernel that is predicted to take longest, or of the family that --family
names, half of --each are those that the model likes best, the others are drawn.
One library has a model of each; the whole program is timed, since the kernels
beside it are the same. The list is in the order of what was measured, us, with
what the model said of the kernel. Exit status 3 without a GPU.
"""
import argparse
import concurrent.futures as futures
import glob
import json
import os
import random
import re
import sys
import tempfile

import lone
from lone import LONE, TOP, say, shell, tail


def listed(o, path):
    """[(kernel, [(us, variant), ...]), ...] of a program."""
    status, text = shell([o.dcc, path, f"-DE={o.type}", "--dump=variants",
                          f"--target={o.target}", "-o", os.devnull], 60)
    if status:
        raise RuntimeError(tail(text, 2))
    kernels = []
    for line in text.splitlines():
        head = re.match(r"variants of (\w+)", line)
        row = re.match(r"\s*([\d.]+) .* (\w+, .*)", line)
        if head:
            kernels.append((head[1], []))
        elif row:
            kernels[-1][1].append((float(row[1]), row[2]))
    return kernels


def chosen(o, kernels):
    of = [k for k in kernels if not o.family or
          k[1][0][1].split(",")[0] == o.family]
    kernel, all_of = max(of, key=lambda k: k[1][0][0])
    top = all_of[:(o.each + 1) // 2]
    rest = [v for v in all_of[len(top):] if v[0] < o.within * top[0][0]]
    random.seed(o.seed)
    return kernel, top + random.sample(rest, min(len(rest), o.each - len(top)))


def build(o, name):
    """The variants of a program's kernel, in a library of models."""
    path = os.path.join(LONE, name + ".dcl")
    kernel, variants = chosen(o, listed(o, path))
    with open(path) as f:
        text = f.read()
    words = [o.dcc, "build", os.path.join(o.work, name + ".dcl"),
             f"-DE={o.type}", "-o", os.path.join(o.work, name + ".so")]
    with open(words[2], "w") as f:
        for i, (_, v) in enumerate(variants):
            f.write(re.sub(rf"\bmodel {name}\b", f"model {name}_v{i}", text))
            rest = kernel[len(name):].lstrip("_")
            words.append(f"--variant={name}_v{i}__{rest}={v}")
    status, text = shell(words, 600)
    if status:
        raise RuntimeError(tail(text, 3))
    return kernel, variants


def times(o, name, variants):
    """By one process, begun again where a launch that faults ended it."""
    us = []
    while len(us) < len(variants):
        _, text = shell([sys.executable, os.path.abspath(__file__), "--one",
                         f"{name} {len(us)} {len(variants)}", "--work",
                         o.work], 200)
        us += [None if t == "None" else float(t)
               for t in re.findall(r"^takes (\S+)", text, re.M)]
        if len(us) < len(variants):
            us.append(None)
    rows = [{"variant": v, "predicted": p, "us": t}
            for (p, v), t in zip(variants, us)]
    rows.sort(key=lambda r: r["us"] or 1e9)
    return rows


def one(o):
    name, first, n = o.one.split()
    for i in range(int(first), int(n)):
        print("takes", lone.dcc_us(o, name, int(n), f"{name}_v{i}"),
              flush=True)


def measure(o, names):
    report = []
    with futures.ThreadPoolExecutor(o.jobs) as pool:
        made = {pool.submit(build, o, n): n for n in names}
        for done in futures.as_completed(made):
            name = made[done]
            try:
                kernel, variants = done.result()
            except RuntimeError as e:
                say(f"{name}: {e}")
                continue
            rows = times(o, name, variants)
            report.append({"name": name, "kernel": kernel, "rows": rows})
            say(f"{name}, {kernel}; the pick takes "
                f"{[r['us'] for r in rows if r['variant'] == variants[0][1]]}")
            for r in rows:
                say(f"  {r['us']} of {r['predicted']:.1f}  {r['variant']}")
    return report


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--dcc", default=os.path.join(TOP, "build", "dcc"))
    p.add_argument("--only", help="names, commas between them")
    p.add_argument("--family", help="a kernel of this one")
    p.add_argument("--type", default="f16", choices=["f16", "f32"])
    p.add_argument("--target", default="h200")
    p.add_argument("--each", type=int, default=24)
    p.add_argument("--within", type=float, default=4,
                   help="drawn are those predicted so many times the best")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--json")
    p.add_argument("--work", help="folder to build in, and to leave")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--one", help=argparse.SUPPRESS)
    o = p.parse_args()
    o.work = os.path.abspath(o.work or tempfile.mkdtemp(prefix="dcc-lone-"))
    if o.one:
        return one(o)
    if shell(["nvidia-smi", "-L"], 60)[0]:
        say("no GPU: skipped")
        return 3
    os.makedirs(o.work, exist_ok=True)
    report = measure(o, o.only.split(",") if o.only else sorted(
        os.path.basename(f)[:-4] for f in glob.glob(LONE + "/*.dcl")))
    if o.json:
        with open(o.json, "w") as f:
            json.dump(report, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
