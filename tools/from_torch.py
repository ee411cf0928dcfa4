#!/usr/bin/env python3
"""A PyTorch module to a .dcl, its weights, and one input and output to check:

    tools/from_torch.py torchvision.models:resnet18 --input 1,3,224,224 \\
        -o resnet18.dcl
    tools/from_torch.py mynet.py:Net --args '{"width": 64}' \\
        --weights net.pt --input x:8,512 --input ids:8,128:i64<30522

MODULE:NAME is a class or function whose call gives the module; MODULE a name
that can be imported or a file. --input [NAME:]SIZES[:TYPE[<BOUND]] once for
each argument: sizes with commas, f32 (default) or i64 below a bound; NAME is
the input's in the .dcl. --batch makes the first size a `dim B`.

Writes MODEL.dcl, MODEL.safetensors, MODEL.in.safetensors and
MODEL.out.safetensors; then runs `dcc run` on them unless --no-check, and exits
with 1 if the largest error is more than 1e-3 of the largest value. Needs torch
and numpy.
"""
import argparse
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import st


def find(spec):
    module, name = spec.rsplit(":", 1)
    if module.endswith(".py"):
        s = importlib.util.spec_from_file_location("user_module", module)
        loaded = importlib.util.module_from_spec(s)
        s.loader.exec_module(loaded)
    else:
        loaded = importlib.import_module(module)
    return getattr(loaded, name)


def draw(text, i, rng):
    parts = text.split(":")
    name = "x" if i == 0 else "x%d" % i
    if not parts[0][:1].isdigit():
        name = parts.pop(0)
    sizes = [int(s) for s in parts[0].split(",")]
    kind = parts[1] if len(parts) > 1 else "f32"
    if kind.startswith("i64"):
        bound = int(kind.split("<")[1]) if "<" in kind else 2
        return name, torch.from_numpy(rng.integers(0, bound, sizes))
    return name, torch.from_numpy(
        rng.standard_normal(sizes).astype(np.float32))


def export(model, inputs, path, batch):
    names = list(inputs)
    axes = {n: {0: "batch"} for n in names} if batch else None
    torch.onnx.export(model, tuple(inputs.values()), path, input_names=names,
                      dynamic_axes=axes)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("module")
    p.add_argument("-o", required=True)
    p.add_argument("--args", default="{}", help="its arguments, JSON")
    p.add_argument("--weights", help="a state_dict that torch.load reads")
    p.add_argument("--input", action="append", required=True)
    p.add_argument("--batch", action="store_true")
    p.add_argument("--dcc", default="dcc")
    p.add_argument("--no-check", action="store_true")
    p.add_argument("--cpu", action="store_true")
    o = p.parse_args()
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    model = find(o.module)(**json.loads(o.args)).eval()
    if o.weights:
        model.load_state_dict(torch.load(o.weights, map_location="cpu",
                                         weights_only=True))
    inputs = dict(draw(t, i, rng) for i, t in enumerate(o.input))
    with torch.no_grad():
        want = model(*inputs.values())
    want = want if isinstance(want, (tuple, list)) else [want]
    base = os.path.splitext(o.o)[0]
    with tempfile.TemporaryDirectory() as work:
        onnx = os.path.join(work, os.path.basename(base) + ".onnx")
        export(model, inputs, onnx, o.batch)
        subprocess.run([o.dcc, "import", onnx, "-o", o.o], check=True)
    st.write(base + ".in.safetensors",
            {n: t.numpy() for n, t in inputs.items()})
    if o.no_check:
        return 0
    args = [o.dcc, "run", o.o, "--weights", base + ".safetensors", "--in",
            base + ".in.safetensors", "--out", base + ".out.safetensors"]
    if o.batch:
        args[2:2] = ["-D", "B=%d" % next(iter(inputs.values())).shape[0]]
    subprocess.run(args + (["--cpu"] if o.cpu else []), check=True)
    got = list(st.read(base + ".out.safetensors").values())
    worst = 0.0
    for w in want:
        w = w.numpy()
        best = [np.abs(g.reshape(w.shape) - w).max() / np.abs(w).max()
                for g in got if g.size == w.size]
        worst = max(worst, min(best, default=float("inf")))
    print("largest error %.2g of the largest value" % worst)
    return 0 if worst <= 1e-3 else 1


if __name__ == "__main__":
    sys.exit(main())
