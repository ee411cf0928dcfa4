#!/usr/bin/env python3
"""How well the model ranks variants, the quick and the slow ones.

    tests/bench/ranking.py --dcc build/dcc --seed 7f408f12 --json ranking.json
    tests/bench/ranking.py --dcc build/dcc --evaluate ranking.json

For every group, of the table's shapes and of the hold-out's (holdout.py), dcc
names all legal variants; 48 are measured: the 16 that the model likes best, and
32 drawn uniformly from the others. nvcc builds many in one file, all in
parallel; measure.py checks and times them. Those within 3 times the quickest
take turns, the others are timed once.

--evaluate needs no GPU: it asks dcc as it is now for its predictions of what was
measured, and prints for each group what the first pick loses, Spearman's rank
correlation over all and over those within 1.5 times the best, and the same of
the paper's PUL alone. Exit status 1 if a variant's result is wrong, 3 without
GPU, nvcc or torch.
"""
import argparse
import atexit
import concurrent.futures as futures
import json
import os
import random
import re
import shutil
import statistics
import sys
import tempfile
import time

import bench
import run
import shapes as spec
from run import say, shell, tail

TABLE = """gemm.f16.2048x2048x2048 gemm.f16.1024x1024x1024 gemm.f16.512x512x512
gemm.f16.1024x3072x768 gemm.f16.1024x768x3072 gemm.f16.4096x768x768
gemm.f16.128x768x768 gemm.f16.128x3072x768 gemm.f16.128x768x3072
gemm.f16.1x4096x4096 gemm.f16.16x4096x4096 gemm.f16.64x8192x8192
gelu.f16.1024x768x768 gelu.f16.128x3072x768 gelu.f16.4096x768x768
conv.f16.n1c64h56k64r3s1 conv.f16.n1c256h14k256r3s1 conv.f16.n1c3h224k64r7s2
conv.f16.n1c1024h14k256r1s1 conv.f16.n32c64h56k64r3s1
conv.f16.n32c256h14k256r3s1 conv.f16.n32c64h56k256r1s1
dw.f16.n32c96h112r3s2 dw.f16.n64c192h28r3s1 norm.f16.8192x768
gemm.f32.1024x1024x1024 gemm.f32.128x768x768 gemm.tf32.512x512x512""".split()
HELD = {"gemm": 7, "conv": 8, "dw": 3, "f32": 2, "tf32": 3}
TOP, DRAWN = 16, 32
NEAR = 1.5      # times the best: those that a choice is between
BUNDLE = 12     # variants in one file


def groups(seed, most_flops=6e10):
    """The groups' shapes: the table's, and of the hold-out's each class's
    first, but those that slow kernels would take long over."""
    names = list(TABLE)
    for key, all_ in (spec.held_out(seed) if seed else {}).items():
        small = [n for n in all_ if spec.Shape(n).flops <= most_flops]
        names += small[:HELD[key]]
    return names


def pick(found, choice, seed):
    """What is measured of a group's variants."""
    best = found[:TOP]
    best += [v for v in found[TOP:] if v["text"] == choice]
    rest = [v for v in found if v not in best]
    return best + random.Random(seed).sample(rest, min(DRAWN, len(rest)))


# ---- building: many variants in one file

def emit(builder, name, v, number):
    """One variant's text and header, as model `benchN`."""
    stem = os.path.join(builder.o.work, f"{name}.r{number}")
    shape, model = spec.Shape(name), f"bench{number}"
    with open(stem + ".dcl", "w") as f:
        f.write(shape.dcl().replace("model bench ", f"model {model} ", 1))
    math = [] if shape.math in ("f16", "exact") else [f"--math={shape.math}"]
    family, words = v["text"].split(", ", 1)
    status, text = shell([builder.o.dcc, f"--target={builder.o.target}",
                          "--dependent-launch=off", *math, stem + ".dcl", "-o",
                          stem + ".cu", f"--variant={family}={words}"], 60)
    if status:
        return f"{v['text']}: dcc: {tail(text, 2)}"
    v["model"] = model
    return None


def bundle(builder, name, number, part):
    """A library of some of a group's variants; None, or what went wrong."""
    stem = os.path.join(builder.o.work, f"{name}.b{number}")
    notes, texts, heads, includes = [], [], [], []
    for i, v in enumerate(part):
        note = emit(builder, name, v, number * BUNDLE + i)
        if note:
            notes.append(note)
            continue
        own = os.path.join(builder.o.work, f"{name}.r{number * BUNDLE + i}")
        lines = open(own + ".cu").read().split("\n")
        includes += [x for x in lines if x.startswith("#include") and
                     os.path.basename(own) not in x]
        texts.append("\n".join(x for x in lines
                               if not x.startswith("#include")))
        heads.append(open(own + ".h").read())
    with open(stem + ".h", "w") as f:
        f.write("\n".join(heads))
    with open(stem + ".cu", "w") as f:
        f.write("\n".join(dict.fromkeys(includes)) + "\n" +
                f'#include "{os.path.basename(stem)}.h"\n' + "\n".join(texts))
    status, text = builder.compile(stem)
    if status:
        return notes + [f"nvcc: {tail(text, 4)}"]
    for v in part:
        if "model" in v:
            v["library"] = stem + ".so"
    return notes


def start_group(builder, name, pool):
    """A group's variants and the futures of their libraries."""
    status, text = builder.dcc(name, "--dump=variants")
    if status:
        raise ValueError(tail(text, 3))
    _, choice, found = bench.offers(text)
    if len(found) < TOP + DRAWN:
        raise ValueError(f"has {len(found)} legal variants only")
    picked = pick(found, choice, builder.o.seed + name)
    kept = [dict(text=v["text"], predicted_us=v["predicted_us"],
                 pul_us=v["pul_us"], chosen=v["text"] == choice,
                 rank=found.index(v)) for v in picked]
    parts = [kept[i:i + BUNDLE] for i in range(0, len(kept), BUNDLE)]
    return dict(legal=len(found), variants=kept), \
        [pool.submit(bundle, builder, name, i, p) for i, p in enumerate(parts)]


def start_all(o, builder, pool):
    started = {}
    for name in o.groups:
        try:
            started[name] = start_group(builder, name, pool)
        except ValueError as e:
            say(f"{name}: {e}")
    return started


# ---- measuring

def measure_group(worker, name, case):
    """Without a variant that hangs or faults: that one is wrong."""
    ready = [v for v in case["variants"] if "library" in v]
    while ready:
        result = worker.ask({"shape": name, "variants": ready, "near": 3,
                             "nodes": nodes(name)})
        if "error" not in result:
            by_text = {v["text"]: v for v in result["variants"]}
            for v in case["variants"]:
                v.update(by_text.get(v["text"], {}))
            case["torch_us"] = result["torch_us"]
            return
        culprit = [v for v in ready if v["text"] == worker.at]
        if not culprit:
            case["error"] = result["error"]
            return
        culprit[0]["wrong"] = result["error"]
        ready = [v for v in ready if v is not culprit[0]]


def nodes(name):
    """Of a graph: about a millisecond's."""
    us = spec.Shape(name).flops / 4e8 + 2
    return max(8, min(128, int(1000 / us)))


def measure_mode(o):
    builder, worker = bench.Builder(o), bench.Worker(o)
    report = {"machine": run.machine(o), "seed": o.seed, "groups": {}}
    if not o.emit_only:
        worker.start()
    builder.prepare()
    start = time.time()
    with futures.ThreadPoolExecutor(o.jobs) as pool:
        started = start_all(o, builder, pool)
        if not o.emit_only and not worker.begin():
            return 3
        for name, (case, parts) in started.items():
            case["notes"] = [n for p in parts for n in p.result()]
            for note in case["notes"]:
                say(f"{name}: {note}")
            if o.emit_only:
                continue
            measure_group(worker, name, case)
            report["groups"][name] = case
            write(o.json, report)
            done = sum("us" in v for v in case["variants"])
            say(f"{time.time() - start:5.0f} s  {name}: {done} of "
                f"{case['legal']} measured {case.get('error', '')}")
    worker.stop()
    if not o.emit_only:
        evaluate(o, report)
    return int(any("wrong" in v for c in report["groups"].values()
                   for v in c["variants"]))


def short(x):
    return float(f"{x:.4g}") if isinstance(x, float) else x


def write(path, report):
    """One variant a line."""
    keep = ("text", "us", "predicted_us", "pul_us", "chosen", "rank", "once",
            "wrong", "error")
    text = json.dumps({k: v for k, v in report.items() if k != "groups"})
    out = [text[:-1] + ', "groups": {']
    for i, (name, c) in enumerate(report["groups"].items()):
        head = {k: v for k, v in c.items() if k != "variants"}
        out += [("," if i else "") + json.dumps(name) + ": " +
                json.dumps(head)[:-1] + ', "variants": [']
        out += [",\n".join(json.dumps({k: short(v[k]) for k in keep if k in v})
                           for v in c["variants"]) + "]}"]
    with open(path + ".new", "w") as f:
        f.write("\n".join(out) + "}}\n")
    os.replace(path + ".new", path)


# ---- evaluating

def predictions(o, names):
    """{shape: {variant: (us, PUL's us)}} of dcc as it is now, in order."""
    builder = bench.Builder(o)

    def ask(name):
        status, text = builder.dcc(name, "--dump=variants")
        if status:
            raise SystemExit(f"{name}: {tail(text, 3)}")
        _, choice, found = bench.offers(text)
        return choice, {v["text"]: (v["predicted_us"], v["pul_us"])
                        for v in found}
    with futures.ThreadPoolExecutor(o.jobs) as pool:
        return dict(zip(names, pool.map(ask, names)))


def judged(rows, first):
    """rows: (measured, predicted) of a group's variants; first: what the pick
    took. Loss, correlation over all, correlation near the best."""
    best = min(us for us, _ in rows)
    near = [r for r in rows if r[0] <= NEAR * best]
    return (first / best if first else None,
            bench.rank_correlation(*zip(*rows)),
            bench.rank_correlation(*zip(*near)) if len(near) > 4 else None)


def judge_group(case, choice, now):
    ran = [v for v in case["variants"] if v.get("us") and v["text"] in now]
    if len(ran) < 8:
        return None
    us = {v["text"]: v["us"] for v in ran}
    model = judged([(v["us"], now[v["text"]][0]) for v in ran],
                   us.get(choice))
    pul = min(ran, key=lambda v: now[v["text"]][1])
    return model + judged([(v["us"], now[v["text"]][1]) for v in ran],
                          pul["us"])


def evaluate(o, report):
    """Prints the groups and what is asked of all of them; returns them."""
    names = [n for n, c in report["groups"].items() if c.get("variants")]
    now, found = predictions(o, names), {}
    say(f"{'group':34} {'loss':>6} {'all':>5} {'near':>5}  PUL alone "
        f"{'loss':>6} {'all':>5} {'near':>5}")
    for name in names:
        j = judge_group(report["groups"][name], *now[name])
        if not j:
            say(f"{name:34} not measured")
            continue
        found[name] = j
        shown = [bench.number(x, "%.3f" if i % 3 == 0 else "%.2f")
                 for i, x in enumerate(j)]
        say("{:34} {:>6} {:>5} {:>5}            {:>6} {:>5} {:>5}".format(
            name, *shown))
    say(f"\n{len(found)} groups{'':24} {summary(found.values(), 0)}      "
        f"{summary(found.values(), 3)}")
    return found


def summary(rows, at):
    """Geomean of the losses (how many are known, the worst), medians."""
    rows = list(rows)
    loss = [r[at] for r in rows if r[at]]
    every = [r[at + 1] for r in rows if r[at + 1] is not None]
    near = [r[at + 2] for r in rows if r[at + 2] is not None]
    return (f"loss {spec.geomean(loss):.3f} of {len(loss)} (worst "
            f"{max(loss):.2f}) all {statistics.median(every):.3f} near "
            f"{statistics.median(near):.3f}")


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--dcc", default=os.path.join(bench.TOP, "build/dcc"))
    p.add_argument("--dcc-flag", action="append", default=[])
    p.add_argument("--seed", default="")
    p.add_argument("--groups", default="", help="these shapes, by commas")
    p.add_argument("--json", default="ranking.json")
    p.add_argument("--evaluate", metavar="JSON")
    p.add_argument("--emit-only", action="store_true",
                   help="no GPU: emit and build")
    p.add_argument("--target", default="h200")
    p.add_argument("--arch", default="90a")
    p.add_argument("--work")
    p.add_argument("--commit", default="")
    p.add_argument("--budget", type=float, default=240, help="seconds in all")
    p.add_argument("--patience", type=float, default=20)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    o = p.parse_args()
    o.dcc, o.params, o.cpu, o.ms = os.path.abspath(o.dcc), False, False, 30
    o.groups = o.groups.split(",") if o.groups else groups(o.seed)
    o.deadline = time.time() + o.budget
    return o


def main():
    o = options()
    if not o.work:
        o.work = tempfile.mkdtemp(prefix="dcc-ranking-")
        atexit.register(shutil.rmtree, o.work, ignore_errors=True)
    os.makedirs(o.work, exist_ok=True)
    if o.evaluate:
        evaluate(o, json.load(open(o.evaluate)))
        return 0
    if not shutil.which("nvcc"):
        say("no nvcc: skipped")
        return 3
    if not o.emit_only and shell(["nvidia-smi", "-L"], 60)[0]:
        say("no GPU: skipped")
        return 3
    return measure_mode(o)


if __name__ == "__main__":
    sys.exit(main())
