#!/usr/bin/env python3
"""Which operator, version and attribute some passing test reaches:

    tests/onnx_tests.py --all --pypi --list pypi.bad
    tests/onnx_checklist.py [--pypi] [--failed pypi.bad ...] [FOLDER...]

A table, a line an operator of those that dcc import means to have: the versions
of the operator in ONNX's schemas, the ones that tests which pass use in
brackets, then each attribute with the values that they give it. What no test
reaches is marked with `!`; a second table lists it alone. Versions are those
of the operator (Pad-2, -11, -13, ..), which a test's opset decides. A test's
folder counts as passing unless a list of those that failed names it.
tests/onnx_cases.py has cases for what ONNX's own tests leave out; give its
folder, too. Needs the PyPI package onnx.
"""
import argparse
import collections
import glob
import os
import sys
import tempfile

import onnx

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from onnx_tests import DEBIAN, NAMED, pypi

# com.microsoft's: their schemas are not in the package
MICROSOFT = {
    "FusedMatMul": "alpha transA transB transBatchA transBatchB",
    "FastGelu": "", "QuickGelu": "alpha", "BiasGelu": "",
    "SkipLayerNormalization": "epsilon",
    "MultiHeadAttention": "mask_filter_value num_heads scale unidirectional"}
# values that an attribute can have, where they are few
CHOICES = {
    ("Pad", "mode"): {"constant", "reflect", "edge", "wrap"},
    ("Resize", "mode"): {"nearest", "linear", "cubic"},
    ("Resize", "coordinate_transformation_mode"): {
        "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
        "align_corners", "asymmetric", "tf_crop_and_resize",
        "tf_half_pixel_for_nn"},
    ("Resize", "nearest_mode"): {"round_prefer_floor", "round_prefer_ceil",
                                 "floor", "ceil"},
    ("Resize", "keep_aspect_ratio_policy"): {"stretch", "not_larger",
                                             "not_smaller"},
    ("GridSample", "mode"): {"linear", "nearest", "cubic", "bilinear",
                             "bicubic"},
    ("GridSample", "padding_mode"): {"zeros", "border", "reflection"},
    ("DepthToSpace", "mode"): {"DCR", "CRD"},
    ("ScatterND", "reduction"): {"none", "add", "mul", "max", "min"},
    ("ScatterElements", "reduction"): {"none", "add", "mul", "max", "min"},
    ("Gelu", "approximate"): {"none", "tanh"},
    ("LSTM", "direction"): {"forward", "reverse", "bidirectional"},
    ("GRU", "direction"): {"forward", "reverse", "bidirectional"},
    ("RNN", "direction"): {"forward", "reverse", "bidirectional"},
    ("Upsample", "mode"): {"nearest", "linear"},
}
AUTO_PAD = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}


def text(a):
    v = onnx.helper.get_attribute_value(a)
    if isinstance(v, bytes):
        return v.decode()
    if isinstance(v, (onnx.TensorProto, onnx.GraphProto)):
        return "a tensor" if isinstance(v, onnx.TensorProto) else "a graph"
    if isinstance(v, float):
        return "%g" % v
    if isinstance(v, (list, tuple)) or hasattr(v, "__len__"):
        return "[%s]" % ",".join(x.decode() if isinstance(x, bytes)
                                 else "%g" % x for x in v)
    return str(v)


class Op:
    def __init__(self):
        self.versions = collections.Counter()
        self.values = collections.defaultdict(collections.Counter)


def walk(graph, opsets, seen):
    for n in graph.node:
        domain = "" if n.domain == "ai.onnx" else n.domain
        op = seen[n.op_type]
        if not domain and n.op_type in seen.schemas:
            since = [v for v in seen.schemas[n.op_type]
                     if v <= opsets.get("", 1)]
            op.versions[max(since or [0])] += 1
        else:
            op.versions[1] += 1
        for a in n.attribute:
            op.values[a.name][text(a)] += 1
            if a.type == onnx.AttributeProto.GRAPH:
                walk(a.g, opsets, seen)


class Seen(collections.defaultdict):
    def __init__(self):
        super().__init__(Op)
        self.schemas = collections.defaultdict(dict)
        for s in onnx.defs.get_all_schemas_with_history():
            if s.domain == "":
                self.schemas[s.name][s.since_version] = s


def look(folders, failed):
    seen = Seen()
    for d in folders:
        for path in sorted(glob.glob(os.path.join(d, "*", "model.onnx"))):
            if os.path.basename(os.path.dirname(path)) in failed:
                continue
            try:
                m = onnx.load(path)
            except Exception:  # a file that is meant to be broken
                continue
            opsets = {o.domain: o.version for o in m.opset_import}
            walk(m.graph, opsets, seen)
            for f in m.functions:
                walk(f, opsets, seen)
    return seen


def wanted(name, attribute):
    """The values that should be seen: a set, or None for any."""
    if attribute == "auto_pad":
        return AUTO_PAD
    return CHOICES.get((name, attribute))


def lines(name, seen):
    """A line for the table, and what is not reached."""
    op, schemas = seen[name], seen.schemas.get(name, {})
    out, missing = [], []
    for v in sorted(schemas):
        hit = op.versions[v]
        out.append("[%d]" % v if hit else "%d!" % v)
        if not hit and not schemas[v].deprecated:
            missing.append("version %d" % v)
    attributes = dict.fromkeys(MICROSOFT.get(name, "").split())
    if name in MICROSOFT and not op.versions:
        missing.append("version 1")
    for v in sorted(schemas):
        attributes.update(schemas[v].attributes)
    for a in sorted(set(attributes) | set(op.values)):
        values = op.values[a]
        need = wanted(name, a)
        lacks = sorted((need or set()) - set(values))
        said = " ".join(sorted(values)[:12])
        out.append("%s=%s" % (a, said if values else "!"))
        if need is not None:
            missing += ["%s = %s" % (a, v) for v in lacks]
        elif not values:
            missing.append(a)
    return "%-26s %s" % (name, " ".join(out)), missing


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--pypi", action="store_true")
    p.add_argument("--failed", action="append", default=[])
    p.add_argument("--missing", action="store_true", help="only these")
    p.add_argument("folders", nargs="*")
    o = p.parse_args()
    failed = set()
    for f in o.failed:
        failed |= {l.split(":")[0] for l in open(f)}
    with tempfile.TemporaryDirectory() as work:
        folders = o.folders + (pypi(work) if o.pypi else [])
        seen = look(folders or [os.path.join(DEBIAN, d) for d in
                                ("node", "simple", "pytorch-converted",
                                 "pytorch-operator")], failed)
    rows = [(n,) + lines(n, seen) for n in NAMED]
    for name, line, _ in rows:
        if not o.missing:
            print(line)
    print("\nnot reached:")
    for name, _, missing in rows:
        if missing:
            print("%-26s %s" % (name, "; ".join(missing)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
