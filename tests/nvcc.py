#!/usr/bin/env python3
"""Every example through nvcc: does it compile, and without spills.

    tests/nvcc.py --dcc build/dcc                         # everything
    tests/nvcc.py --dcc build/dcc --models vgg16 --cases f16:8 --targets h200

For every model of examples/, as it is and for each element type and batch
size, and for each target: dcc emits; each kernel goes through nvcc and ptxas
as it stands, the file around the kernels through nvcc with their bodies left
out. Kernels of one text (but for name and comments) are compiled once, in any
run: --cache keeps what ptxas said of each, keyed by text, runtime and nvcc.

A kernel fails that spills, keeps arrays in local memory, or that ptxas warns
of: C7508 says that a register budget was ignored, C7510 that wgmma was
serialised. So does one that writes to registers of products that are under way
(sass.py; where there is cuobjdump). Prints a row a case and what failed, writes a table of all kernels:
registers, how many launch bounds allow, spilled bytes, variant. Exit status 1
if anything fails, 3 without nvcc.
"""
import argparse
import concurrent.futures as futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests", "gpu"))
import sass  # noqa: E402
from run import say, shell  # noqa: E402

RUNTIME = os.path.join(TOP, "runtime")
UNIT = 8                # kernels in one call of nvcc
REGS_SM = 65536         # of sm_80 and sm_90
WARNING = re.compile(r"\((C75\d\d)\)|Potential Performance Loss")


def tail(text, lines=12):
    """Its errors, or its end."""
    all = text.strip().splitlines()
    errors = [line for line in all if "error" in line]
    return "\n    ".join(errors[:lines] or all[-lines:])


# ---- cases and their kernels

def emit(o, case):
    """case gains `text`, or `error`."""
    path = os.path.join(o.work, case["name"] + ".cu")
    command = [o.dcc, os.path.join(TOP, "examples", case["model"] + ".dcl"),
               "-o", path, f"--target={case['target']}"]
    if case["type"]:
        command += [f"-DE={case['type']}", f"-DB={case['batch']}"]
    status, text = shell(command + o.dcc_flag, 120)
    if status:
        case["error"] = f"dcc: exit status {status}\n    {tail(text)}"
        return
    case["text"] = open(path).read()
    flag = re.search(r"-gencode \S+|-arch=\S+", case["text"])
    case["arch"] = flag.group(0)        # as its own head says to build it


def kernels_of(text):
    """(name, kernel without its comments, variant, launch bounds) of each"""
    parts = re.split(r"^// ---- \w+ -+\n", text, flags=re.M)[1:]
    for part in parts:
        start = part.index('extern "C" __global__')
        end = part.index("\n}\n", start) + 3
        body = part[start:end]
        bounds = re.match(r'extern "C" __global__ __launch_bounds__\('
                          r'(\d+)(?:, (\d+))?\)\s*void (\w+)', body)
        family = re.search(r"^// Family    (.*(?:\n//   .*)*)", part, re.M)
        variant = " ".join(family.group(1).replace("\n//", " ").split())
        code = re.sub(r"[ ]*//[^\n]*", "", body)
        yield (bounds.group(3), code, variant,
               (int(bounds.group(1)), int(bounds.group(2) or 0)))


def without_bodies(text):
    """The file with empty kernels: what the host compiler sees of it."""
    return re.sub(r'(^extern "C" __global__[^{]*?\n)\{\n.*?^\}\n', r"\1{}\n",
                  text, flags=re.M | re.S)


def most_registers(bounds):
    """What ptxas may give a thread under these launch bounds."""
    warps = (bounds[0] + 31) // 32 * max(1, bounds[1])
    warps = (warps + 3) // 4 * 4        # an SM's quarters have equal shares
    return min(255, REGS_SM // 32 // warps // 8 * 8)


# ---- nvcc

def fingerprint():
    """Of what a kernel's code depends on besides its text and target."""
    status, text = shell(["nvcc", "--version"], 60)
    h = hashlib.sha256(text.encode())
    h.update(open(sass.__file__, "rb").read())
    h.update(b"cuobjdump" if shutil.which("cuobjdump") else b"")
    for name in sorted(os.listdir(RUNTIME)):
        if name.endswith((".cuh", ".h")):
            h.update(open(os.path.join(RUNTIME, name), "rb").read())
    return h.hexdigest()


def add_kernels(o, case, found):
    """case gains `kernels`; new ones are added to found."""
    heads = re.findall(r'^#include "dcc_.*\n', case["text"], re.M)
    for name, code, variant, bounds in kernels_of(case["text"]):
        code = re.sub(rf"\b{name}\b", "KERNEL", code)
        key = hashlib.sha256("\n".join((o.fingerprint, case["arch"],
                                        code)).encode()).hexdigest()[:32]
        k = found.setdefault(key, {"code": code, "variant": variant,
                                   "arch": case["arch"], "cases": [],
                                   "bounds": bounds, "heads": heads})
        k["cases"].append((case["name"], name))
        case["kernels"].append(key)


def nvcc(o, arch, text, *flags, look=None):
    """(exit status, what nvcc said, what look finds in the result) of a .cu
    file's text"""
    with tempfile.TemporaryDirectory(dir=o.work) as folder:
        path = os.path.join(folder, "unit.cu")
        with open(path, "w") as f:
            f.write(text)
        status, said = shell(["nvcc", "-std=c++17", *arch.split(), "-I",
                              RUNTIME, "-I", o.work, path, *flags, "-o",
                              path + ".out"], o.timeout)
        return status, said, look(path + ".out") if look and not status else {}


def read_ptxas(text):
    """What ptxas said, by kernel; under None warnings that name none."""
    said, at = {}, None
    for line in text.splitlines():
        begin = re.search(r"Compiling entry function '(\w+)'", line)
        if begin:
            at = said.setdefault(begin.group(1), {"warnings": []})
        if WARNING.search(line):
            for k in re.findall(r"\b(k[0-9a-f]{32})\b", line) or [None]:
                said.setdefault(k, {"warnings": []})
                said[k]["warnings"].append(line.strip())
        m = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, "
                      r"(\d+) bytes spill loads", line)
        if m:
            at["stack"], at["stores"], at["loads"] = map(int, m.groups())
        m = re.search(r"Used (\d+) registers", line)
        if m:
            at["registers"] = int(m.group(1))
    return said


def compile_unit(o, keys, found):
    """Each kernel gains `result`."""
    heads = {h for key in keys for h in found[key]["heads"]}
    text = "".join(sorted(heads))
    for key in keys:
        text += re.sub(r"\bKERNEL\b", "k" + key, found[key]["code"])
    look = sass.kernels if "wgmma" in text else None
    status, said, races = nvcc(o, found[keys[0]]["arch"], text, "-O3",
                               "-Xptxas", "-v", "-cubin", look=look)
    by = {} if status else read_ptxas(said)
    if (status or None in by) and len(keys) > 1:
        for key in keys:                # who is it
            compile_unit(o, [key], found)
    elif status:
        found[keys[0]]["result"] = {"error": tail(said)}
    else:
        for key in keys:
            found[key]["result"] = by["k" + key]
            if (races or {}).get("k" + key):
                by["k" + key]["warnings"].append(races["k" + key])
        if None in by:
            by["k" + keys[0]]["warnings"] += by[None]["warnings"]


def compile_host(o, case):
    """The file around the kernels."""
    status, said, _ = nvcc(o, case["arch"], without_bodies(case["text"]),
                           "-O0", "-c")
    if status:
        case["error"] = f"nvcc: exit status {status}\n    {tail(said)}"


def compile_all(o, cases, found, cache):
    for key, k in found.items():
        if key in cache:
            k["result"] = cache[key]
    todo = [key for key, k in found.items() if "result" not in k]
    units = []
    for arch in sorted({found[key]["arch"] for key in todo}):
        same = [key for key in todo if found[key]["arch"] == arch]
        units += [same[i:i + UNIT] for i in range(0, len(same), UNIT)]
    texts = {}
    for c in cases:                     # the host's part, one text once
        if "text" in c:
            plain = re.sub(r"//[^\n]*", "", c["text"])
            texts.setdefault(plain.replace(c["name"], ""), []).append(c)
    say(f"{len(found)} kernels, {len(todo)} to compile, {o.jobs} at once")
    start = time.time()
    with futures.ThreadPoolExecutor(o.jobs) as pool:
        jobs = [pool.submit(compile_unit, o, u, found) for u in units]
        if not o.no_host:
            jobs += [pool.submit(compile_host, o, same[0])
                     for same in texts.values()]
        for n, job in enumerate(futures.as_completed(jobs), 1):
            job.result()
            if n % 20 == 0 or n == len(jobs):
                say(f"  {n} of {len(jobs)} calls of nvcc, "
                    f"{time.time() - start:.0f} s")
    for key in todo:
        if "error" not in found[key]["result"]:
            cache[key] = found[key]["result"]


# ---- the report

def faults(k):
    r = k["result"]
    if "error" in r:
        return [r["error"]]
    bad = [w for w in r["warnings"]]
    if r["stores"] or r["loads"]:
        bad.append(f"spills: {r['stores']} bytes of stores, {r['loads']} of "
                   "loads")
    elif r["stack"]:
        bad.append(f"{r['stack']} bytes in local memory")
    return bad


def write_table(path, found):
    rows = [f"{'sm':>4} {'regs':>4} {'most':>4} {'spill':>5}  kernel, variant"]
    for k in sorted(found.values(), key=lambda k: (k["arch"], k["cases"])):
        r = k["result"]
        rows.append(f"{k['arch'].split('_')[-1]:>4} "
                    f"{r.get('registers', '-'):>4} "
                    f"{most_registers(k['bounds']):>4} "
                    f"{r.get('stores', '-'):>5}  "
                    f"{k['cases'][0][0]} {k['cases'][0][1]}, {k['variant']}")
    with open(path, "w") as f:
        f.write("\n".join(rows) + "\n")


def report(cases, found):
    """Whether all is well; prints a row a case, and what is wrong."""
    bad = {key for key, k in found.items() if faults(k)}
    say(f"\n{'model':12} {'type':4} {'B':>3} {'target':7} {'kernels':>7} "
        f"{'registers':>9} {'spills':>6}")
    for c in cases:
        mine = [found[key]["result"] for key in c.get("kernels", [])]
        say(f"{c['model']:12} {c['type'] or '-':4} {c['batch'] or '-':>3} "
            f"{c['target']:7} {len(mine):7} "
            f"{max((r.get('registers', 0) for r in mine), default=0):9} "
            f"{sum(r.get('stores', 0) for r in mine):6}" +
            ("  FAILED" if "error" in c or bad & set(c["kernels"]) else ""))
        if "error" in c:
            say("    " + c["error"])
    for key in sorted(bad, key=lambda key: found[key]["cases"]):
        k = found[key]
        say(f"\n{k['cases'][0][1]}, {k['variant']}")
        say(f"    {', '.join(name for name, _ in k['cases'])}: "
            f"{k['result'].get('registers')} registers of "
            f"{most_registers(k['bounds'])}")
        for fault in faults(k):
            say(f"    {fault}")
    failed = [c for c in cases if "error" in c or bad & set(c["kernels"])]
    say(f"\n{len(found)} kernels, {len(bad)} bad; "
        f"{len(cases) - len(failed)} of {len(cases)} cases right")
    return not failed


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    models = sorted(f[:-4] for f in os.listdir(os.path.join(TOP, "examples"))
                    if f.endswith(".dcl"))
    p.add_argument("--dcc", default=os.path.join(TOP, "build/dcc"))
    p.add_argument("--models", default=",".join(models))
    p.add_argument("--cases", default="own,f16:1,f16:8,f16:32,bf16:1,bf16:8,"
                   "f32:1,f32:8",
                   help="TYPE:BATCH, or own: the model as it is written")
    p.add_argument("--targets", default="h200,sm_80")
    p.add_argument("--dcc-flag", action="append", default=[])
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--cache", metavar="FILE", help="results of former runs")
    p.add_argument("--table", default="nvcc.txt", help="all kernels go here")
    p.add_argument("--no-host", action="store_true",
                   help="kernels only, not the files around them")
    p.add_argument("--timeout", type=float, default=600)
    return p.parse_args()


def list_cases(o):
    cases = []
    for target in o.targets.split(","):
        for model in o.models.split(","):
            for form in o.cases.split(","):
                kind, _, batch = form.partition(":")
                cases.append({
                    "model": model, "target": target,
                    "type": "" if kind == "own" else kind, "batch": batch,
                    "name": ".".join(filter(None, (
                        model, kind, batch and "b" + batch, target)))})
    return cases


def main():
    o = options()
    if not shutil.which("nvcc"):
        say("no nvcc: skipped")
        return 3
    cases, found, cache = list_cases(o), {}, {}
    if o.cache and os.path.exists(o.cache):
        cache = json.load(open(o.cache))
    o.fingerprint = fingerprint()
    with tempfile.TemporaryDirectory() as o.work:
        with futures.ThreadPoolExecutor(o.jobs) as pool:
            list(pool.map(lambda c: emit(o, c), cases))
        for c in cases:
            c["kernels"] = []
            if "text" in c:
                add_kernels(o, c, found)
        compile_all(o, cases, found, cache)
    if o.cache:
        with open(o.cache, "w") as f:
            json.dump(cache, f)
    write_table(o.table, found)
    return 0 if report(cases, found) else 1


if __name__ == "__main__":
    sys.exit(main())
