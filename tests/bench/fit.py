#!/usr/bin/env python3
"""Fits the figures of a GPU's .dev file to what variants took on it.

    tests/bench/fit.py --dcc build/dcc                        # what it is now
    tests/bench/fit.py --dcc build/dcc --rounds 3 -o h200.dev # fitted
    tests/bench/fit.py --dcc build/dcc --halves               # how stable it is

Figures that the .dev file calls `fitted` are moved, one after the other, by
steps that become smaller; a step stays if the objective falls. The calibration
is what ranking.py and bench.py --variants measured and the tree keeps. The
objective is the mean over its groups of what the pick among the measured
variants loses (as a logarithm, WEIGHT times), of the error of the predicted
times of those within 1.5 times the best, a quarter of that of all, and a
quarter of what Spearman's rank correlation of the near ones lacks.

Launches of networks, which tests/gpu/launches.py timed one by one, are compared
with what is predicted for the same variants today; they choose nothing, since
each kernel has one variant, but say where networks stand.

--halves refits twice, on every other group, from figures that --perturb moved
at random, and prints for each fit what the pick loses over all groups: the
three must be within 0.01 (exit status 1 if they are not). No GPU is used.
"""
import argparse
import concurrent.futures as futures
import json
import math
import os
import random
import re
import statistics
import sys
import tempfile

import bench
import ranking
import shapes as spec
from run import say, shell, tail

HERE = os.path.dirname(os.path.abspath(__file__))
KEPT = ["h200-ranking.json", "h200-losers.json", "h200-variants.json"]
LAUNCHES = "h200-launches.json"
LINE = re.compile(r"^(\w+) = (\S+)(\s*# fitted.*)$")
WEIGHT, NEAR = 4.0, 1.5
FAR = 3.0       # times the best: slower ones are not asked for


def calibration(paths):
    """{group: {variant: us}}, those that were measured."""
    found = {}
    for path in paths:
        data = json.load(open(path))
        for name, case in (data.get("groups") or data["variants"]).items():
            us = {v["text"]: v["us"] for v in case.get("variants", [])
                  if v.get("us")}
            best = min(us.values(), default=0)
            found.setdefault(name, {}).update(
                {t: u for t, u in us.items() if u <= FAR * best})
    return {n: us for n, us in found.items() if len(us) >= 4}


class Figures:
    """A .dev file's lines, of which the fitted ones are figures."""

    def __init__(self, path):
        self.lines = open(path).read().split("\n")
        self.value = {m[1]: float(m[2]) for m in map(LINE.match, self.lines)
                      if m}

    def text(self, value):
        def line(s):
            m = LINE.match(s)
            return s if not m else \
                f"{m[1]} = {value[m[1]]:.4g}".ljust(28) + m[3].lstrip()
        return "\n".join(line(s) for s in self.lines)


class Model:
    """dcc's predictions by other figures."""

    def __init__(self, o, figures, groups):
        self.o, self.figures, self.groups = o, figures, groups
        self.path = os.path.join(o.work, "fit.dev")
        o.target = self.path
        self.builder = bench.Builder(o)
        self.pool = futures.ThreadPoolExecutor(o.jobs)

    def ask(self, name):
        status, text = self.builder.dcc(name, "--dump=variants")
        if status:
            raise SystemExit(f"{name}: {tail(text, 3)}")
        _, _, found = bench.offers(text)
        us = self.groups[name]
        return [(us[v["text"]], v["predicted_us"]) for v in found
                if v["text"] in us]

    def rows(self, value, names):
        with open(self.path, "w") as f:
            f.write(self.figures.text(value))
        return dict(zip(names, self.pool.map(self.ask, names)))


def loss(rows):
    """What the quickest by prediction took, over the quickest."""
    return min(rows, key=lambda r: r[1])[0] / min(rows)[0]


def error(rows):
    logs = [math.log(p / us) ** 2 for us, p in rows]
    return math.sqrt(sum(logs) / len(logs)) if logs else 0


def objective(found):
    total = 0
    for rows in found.values():
        best = min(rows)[0]
        near = [r for r in rows if r[0] <= NEAR * best]
        rank = bench.rank_correlation(*zip(*near)) if len(near) > 4 else 1
        total += WEIGHT * math.log(loss(rows)) + error(near) + \
            error(rows) / 4 + (1 - (rank or 0)) / 4
    return total / len(found)


def picks(found):
    return spec.geomean([loss(r) for r in found.values()])


def fit(model, start, names, rounds):
    """The figures after so many rounds, and their objective."""
    value = dict(start)
    best = objective(model.rows(value, names))
    for i in range(rounds):
        step = 1 + 0.3 / 2 ** i
        for key in value:
            for factor in (step, 1 / step):
                tried = dict(value, **{key: value[key] * factor})
                now = objective(model.rows(tried, names))
                if now < best - 1e-5:
                    value, best = tried, now
                    break
        say(f"round {i + 1}: objective {best:.4f}")
    return value


def medians(found):
    """Spearman's rank correlation over all and near the best: medians."""
    rows = [ranking.judged(r, None) for r in found.values() if len(r) >= 8]
    kept = [[r[i] for r in rows if r[i] is not None] for i in (1, 2)]
    return [statistics.median(k) if k else 0 for k in kept]


def offered(text):
    """{kernel: {variant: predicted us}} of what --dump=variants prints."""
    found, now = {}, {}
    for line in text.split("\n"):
        head = re.match(r"variants of (\S+): ", line)
        row = re.match(r" +([\d.]+) .*? (\w+, \w.*)$", line)
        if head:
            now = found.setdefault(head[1], {})
        elif row:
            now.setdefault(row[2].strip(), float(row[1]))
    return found


def launches(o, path):
    """Prints how far predictions are from the launches of each network."""
    for case in json.load(open(path))["cases"]:
        model, kind, batch = case["case"].split(".")
        status, text = shell(
            [o.dcc, f"--target={o.target}", "--dependent-launch=off",
             os.path.join(bench.TOP, "examples", model + ".dcl"), f"-DE={kind}",
             f"-DB={batch[1:]}", "--dump=variants"], 60)
        if status:
            raise SystemExit(f"{case['case']}: {tail(text, 3)}")
        now = offered(text)
        logs = [math.log(now[k["name"]][k["variant"]] * k["launches"] /
                         k["measured"]) for k in case["kernels"]
                if k["variant"] in now.get(k["name"], {})]
        bias = sum(logs) / max(1, len(logs))
        spread = math.sqrt(sum(x * x for x in logs) / max(1, len(logs)))
        say(f"{case['case']:34} {len(logs)} of {len(case['kernels'])} kernels "
            f"have a variant as timed: bias {math.exp(bias):.2f} error "
            f"{spread:.2f}")


def halves(o, model):
    """Refits on every other group."""
    names, r = sorted(model.groups), random.Random(o.perturb)
    start = {k: v * math.exp(r.uniform(-0.3, 0.3))
             for k, v in model.figures.value.items()}
    lost = [picks(model.rows(model.figures.value, names))]
    say(f"as they are: the pick loses {lost[0]:.4f}")
    for part in (0, 1):
        value = fit(model, start, names[part::2], o.rounds)
        lost.append(picks(model.rows(value, names)))
        say(f"fitted to half {part + 1}: the pick loses {lost[-1]:.4f}")
    return int(max(lost) - min(lost) >= 0.01)


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--dcc", default=os.path.join(bench.TOP, "build/dcc"))
    p.add_argument("--device", default=os.path.join(
        bench.TOP, "compiler/model/devices/h200.dev"))
    p.add_argument("--rounds", type=int, default=0)
    p.add_argument("--halves", action="store_true")
    p.add_argument("--perturb", type=int, default=1, metavar="SEED")
    p.add_argument("-o", dest="out", metavar="FILE")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("measured", nargs="*", metavar="JSON", default=[
        os.path.join(HERE, "results", k) for k in KEPT])
    o = p.parse_args()
    o.dcc, o.params, o.cpu, o.dcc_flag = os.path.abspath(o.dcc), False, \
        False, []
    if o.halves:
        o.rounds = o.rounds or 2
    return o


def main():
    o = options()
    with tempfile.TemporaryDirectory(prefix="dcc-fit-") as o.work:
        groups = calibration(o.measured)
        model = Model(o, Figures(o.device), groups)
        if o.halves:
            return halves(o, model)
        value = fit(model, model.figures.value, sorted(groups), o.rounds)
        found = model.rows(value, sorted(groups))
        for name, rows in found.items():
            near = ranking.judged(rows, None)
            say(f"{name:34} loses {loss(rows):.3f} error {error(rows):.2f} "
                f"bias {math.exp(sum(math.log(p / u) for u, p in rows) / len(rows)):.2f} "
                f"all {bench.number(near[1])} near {bench.number(near[2])}")
        launches(o, os.path.join(HERE, "results", LAUNCHES))
        every, near = medians(found)
        say(f"{len(found)} groups, {len(value)} fitted figures: objective "
            f"{objective(found):.4f}, the pick loses {picks(found):.4f}, "
            f"Spearman over all {every:.3f}, near the best {near:.3f}")
        if o.out:
            with open(o.out, "w") as f:
                f.write(model.figures.text(value))
    return 0


if __name__ == "__main__":
    sys.exit(main())
