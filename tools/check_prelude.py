#!/usr/bin/env python3
"""Compares every op of the library with PyTorch's, in double.

    python3 tools/check_prelude.py BUILD/dcc

Needs torch and a C compiler. Each case is one model; its oracle, printed by
dcc, runs on random inputs.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F

import st

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
torch.manual_seed(0)


def case(shapes, text, theirs, ints=None, types=None):
    """Shapes by name, the expression, the same in torch."""
    return shapes, text, theirs, ints or {}, types or {}


X4 = {"x": [2, 6, 9, 7]}
CASES = {
    "relu": case(X4, "relu(x)", lambda x: F.relu(x)),
    "relu6": case(X4, "relu6(x * 6)", lambda x: F.relu6(x * 6)),
    "clip": case(X4, "clip(x, -0.5, high = 0.25)",
                 lambda x: x.clamp(-0.5, 0.25)),
    "leaky_relu": case(X4, "leaky_relu(x, slope = 0.2)",
                       lambda x: F.leaky_relu(x, 0.2)),
    "elu": case(X4, "elu(x, alpha = 0.7)", lambda x: F.elu(x, 0.7)),
    "sigmoid": case(X4, "sigmoid(x)", torch.sigmoid),
    "silu": case(X4, "silu(x)", F.silu),
    "hard_sigmoid": case(X4, "hard_sigmoid(x * 4)",
                         lambda x: F.hardsigmoid(x * 4)),
    "hard_swish": case(X4, "hard_swish(x * 4)", lambda x: F.hardswish(x * 4)),
    "softplus": case(X4, "softplus(x * 9)", lambda x: F.softplus(x * 9, 1, 1e9)),
    "tanh": case(X4, "tanh(x)", torch.tanh),
    "gelu": case(X4, "gelu(x)", F.gelu),
    "gelu_tanh": case(X4, 'gelu(x, approximate = "tanh")',
                      lambda x: F.gelu(x, approximate="tanh")),
    "linear": case({"x": [2, 3, 5], "w": [7, 5], "b": [7]}, "linear(x, w, b)",
                   F.linear),
    "linear_nob": case({"x": [5], "w": [7, 5]}, "linear(x, w)", F.linear),
    "matmul": case({"x": [2, 1, 3, 5], "w": [4, 5, 6]}, "matmul(x, w)",
                   torch.matmul),
    "embedding": case({"x": [11, 3]}, "embedding(i, x)",
                      lambda x, i: F.embedding(i, x), ints={"i": ([2, 5], 11)}),
    "attention": case({"q": [2, 3, 5, 4], "k": [2, 3, 6, 4], "v": [2, 3, 6, 7],
                       "m": [5, 6]}, "attention(q, k, v, m)",
                      lambda q, k, v, m:
                      F.softmax(q @ k.mT / 2 + m, -1) @ v),
    "attention_c": case({"q": [2, 5, 4], "k": [5, 4], "v": [5, 7]},
                        "attention(q, k, v, causal = true, scale = 0.3)",
                        lambda q, k, v: F.softmax(
                            (q @ k.mT * 0.3).masked_fill(
                                torch.ones(5, 5).triu(1) > 0, -torch.inf),
                            -1) @ v),
    "conv1d": case({"x": [2, 6, 11], "w": [4, 3, 3], "b": [4]},
                   "conv1d(x, w, b, stride = 2, pad = 3, dilation = 2, "
                   "groups = 2)",
                   lambda x, w, b: F.conv1d(x, w, b, 2, 3, 2, 2)),
    "conv2d": case({**X4, "w": [8, 3, 3, 2], "b": [8]},
                   "conv2d(x, w, b, stride = [2, 1], pad = [1, 0], "
                   "dilation = [1, 2], groups = 2)",
                   lambda x, w, b: F.conv2d(x, w, b, (2, 1), (1, 0), (1, 2),
                                            2)),
    "conv2d_dw": case({**X4, "w": [6, 1, 3, 3]},
                      "conv2d(x, w, pad = 1, groups = 6)",
                      lambda x, w: F.conv2d(x, w, None, 1, 1, 1, 6)),
    "conv3d": case({"x": [1, 2, 5, 6, 7], "w": [3, 2, 2, 3, 2], "b": [3]},
                   "conv3d(x, w, b, stride = [1, 2, 1], pad = [1, 0, 2], "
                   "dilation = [2, 1, 1])",
                   lambda x, w, b: F.conv3d(x, w, b, (1, 2, 1), (1, 0, 2),
                                            (2, 1, 1))),
    "conv_transpose2d": case({**X4, "w": [6, 4, 3, 2], "b": [8]},
                             "conv_transpose2d(x, w, b, stride = [2, 3], "
                             "pad = [1, 0], extra = [1, 2], groups = 2, "
                             "dilation = [2, 1])",
                             lambda x, w, b: F.conv_transpose2d(
                                 x, w, b, (2, 3), (1, 0), (1, 2), 2, (2, 1))),
    "max_pool": case(X4, "max_pool(x, kernel = 3, stride = 2, pad = 1)",
                     lambda x: F.max_pool2d(x, 3, 2, 1)),
    "max_pool2": case(X4, "max_pool(x, kernel = [2, 3])",
                      lambda x: F.max_pool2d(x, (2, 3))),
    "avg_pool": case(X4, "avg_pool(x, kernel = 3, stride = 2, pad = 1)",
                     lambda x: F.avg_pool2d(x, 3, 2, 1)),
    "avg_pool2": case(X4, "avg_pool(x, kernel = 3, stride = 2, pad = 1, "
                      "count_include_pad = false)",
                      lambda x: F.avg_pool2d(x, 3, 2, 1,
                                             count_include_pad=False)),
    "global_avg_pool": case(X4, "global_avg_pool(x)", lambda x: x.mean((2, 3))),
    "upsample": case(X4, "upsample(x, scale = [2, 3])",
                     lambda x: F.interpolate(x, scale_factor=(2, 3))),
    "bilinear": case(X4, 'upsample(x, scale = [2, 3], mode = "bilinear")',
                     lambda x: F.interpolate(x, scale_factor=(2, 3),
                                             mode="bilinear")),
    "softmax": case(X4, "softmax(x)", lambda x: F.softmax(x, -1)),
    "softmax1": case(X4, "softmax(x, axis = 1)", lambda x: F.softmax(x, 1)),
    "log_softmax": case(X4, "log_softmax(x, axis = -2)",
                        lambda x: F.log_softmax(x, -2)),
    "sum": case(X4, "sum(x, axis = 0)", lambda x: x.sum(0)),
    "mean": case(X4, "mean(x, axis = 2, keep = true)",
                 lambda x: x.mean(2, True)),
    "variance": case(X4, "variance(x)", lambda x: x.var(-1, unbiased=False)),
    "argmax": case(X4, "argmax(x, axis = 1)", lambda x: x.argmax(1)),
    "argmax_k": case(X4, "argmax(x, keep = true)",
                     lambda x: x.argmax(-1, True)),
    "slice": case(X4, "slice(x, axis = 2, first = 1, last = 8, step = 3)",
                  lambda x: x[:, :, 1:8:3]),
    "split": case(X4, "split(x, parts = 3, part = 1, axis = 1)",
                  lambda x: x[:, 2:4]),
    "pad": case(X4, "pad(x, axis = -1, before = 2, after = 1, value = 0.5)",
                lambda x: F.pad(x, (2, 1), value=0.5)),
    "layer_norm": case({"x": [2, 3, 8], "g": [8], "b": [8]},
                       "layer_norm(x, g, b)",
                       lambda x, g, b: F.layer_norm(x, (8,), g, b)),
    "layer_norm0": case({"x": [3, 8]}, "layer_norm(x, eps = 0.1)",
                        lambda x: F.layer_norm(x, (8,), eps=0.1)),
    "rms_norm": case({"x": [3, 8], "g": [8]}, "rms_norm(x, g)",
                     lambda x, g: x * (x.square().mean(-1, True) + 1e-6)
                     .rsqrt() * g),
    "batch_norm": case({**X4, "g": [6], "b": [6], "m": [6], "v": [6]},
                       "batch_norm(x, g, b, m, v * v)",
                       lambda x, g, b, m, v: F.batch_norm(x, m, v * v, g, b)),
    "instance_norm": case({**X4, "g": [6], "b": [6]}, "instance_norm(x, g, b)",
                          lambda x, g, b: F.instance_norm(x, weight=g, bias=b)),
    "group_norm": case({**X4, "g": [6], "b": [6]},
                       "group_norm(x, g, b, groups = 3)",
                       lambda x, g, b: F.group_norm(x, 3, g, b)),
    "reshape": case(X4, "reshape(x, shape = [4, -1, 9])",
                    lambda x: x.reshape(4, -1, 9)),
    "transpose": case(X4, "transpose(x, perm = [2, 0, 3, 1])",
                      lambda x: x.permute(2, 0, 3, 1)),
    "concat": case({"x": [2, 3], "y": [2, 1]}, "concat(x, y, x, axis = 1)",
                   lambda x, y: torch.cat((x, y, x), 1)),
    "scalar_call": case({"x": [3, 4]}, "silu(x) * sigmoid(x) + gelu(relu(x))",
                        lambda x: F.silu(x) * torch.sigmoid(x)
                        + F.gelu(F.relu(x))),
}


def model(name, shapes, text, ints):
    """The case as a model."""
    lines = [f"  input {k} : f32{v};" for k, v in shapes.items()]
    lines += [f"  input {k} : i32{v} in 0..{n};" for k, (v, n) in ints.items()]
    return "\n".join([f"model {name} {{", *lines, f"  output out = {text};",
                      "}", ""])


def build(dcc, folder):
    """The oracle of all cases as a program."""
    source = os.path.join(folder, "all.dcl")
    with open(source, "w") as f:
        for name, (shapes, text, _, ints, _) in CASES.items():
            f.write(model("t_" + name, shapes, text, ints))
    ref = os.path.join(folder, "ref.c")
    subprocess.run([dcc, "--emit=ref", source, "-o", ref], check=True)
    run = os.path.join(ROOT, "runtime")
    files = [os.path.join(run, f) for f in sorted(os.listdir(run))
             if f.startswith(("ref", "safetensors", "base")) and f.endswith(".c")]
    program = os.path.join(folder, "ref")
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-I", run, ref, *files,
                    "-lm", "-o", program], check=True)
    return program


def check(program, folder, name):
    """Runs one case; prints and returns whether it agrees."""
    shapes, _, theirs, ints, _ = CASES[name]
    given = {k: torch.randn(v) for k, v in shapes.items()}
    given |= {k: torch.randint(n, v) for k, (v, n) in ints.items()}
    path = os.path.join(folder, "in.safetensors")
    st.write(path, {k: v.numpy() if k in shapes
                    else v.numpy().astype(np.int32) for k, v in given.items()})
    out = os.path.join(folder, "out.safetensors")
    subprocess.run([program, "--model", "t_" + name, "--in", path, "--out",
                    out], check=True)
    ours = torch.from_numpy(np.array(st.read(out)["out"])).double()
    want = theirs(*(v.double() if k in shapes else v
                    for k, v in given.items())).double()
    if ours.shape != want.shape:
        print(f"{name:18} {list(ours.shape)} {list(want.shape)}  WRONG")
        return False
    error = ((ours - want).abs().max() / want.abs().max()).item()
    print(f"{name:18} {error:.1e}{'' if error < 1e-12 else '  WRONG'}")
    return error < 1e-12


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = build(sys.argv[1], folder)
        return not all([check(program, folder, name) for name in CASES])


if __name__ == "__main__":
    sys.exit(main())
