#!/usr/bin/env python3
"""Slopes far out, on both sides, up to where f32 has them: each against a form in
double of which nothing cancels.

    far.py --dcc build/dcc [--show]

A slope is right within 1e-5 of its own size, and where it is below f32's normal
numbers within 1e-37; gelu's within what the runtime's dcc_normcdf promises of its
value. Second slopes, those of sums of slopes, cross 0: within 1e-5 of their size or
of a hundredth of the largest. Exit status 1 if one is wrong."""
import argparse
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

N = 400


def sigma(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def bell(x):
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def gelu_tanh(x):
    c, d = 0.7978845608028654, 0.044715
    u = c * (x + d * x ** 3)
    return (sigma(2 * u)
            + x * 2 * sigma(2 * u) * sigma(-2 * u) * c * (1 + 3 * d * x * x))


def bce(x):     # with the target 0.25
    return sigma(x) - 0.25


# name: (text, least, greatest, slope, slope's slope or None)
FORMS = {
    "tanh": ("tanh(x[i])", -44, 44, lambda x: 4 * sigma(2 * x) * sigma(-2 * x),
             lambda x: -8 * sigma(2 * x) * sigma(-2 * x) * math.tanh(x)),
    "sigmoid": ("sigmoid(x[i])", -87, 87, lambda x: sigma(x) * sigma(-x),
                lambda x: sigma(x) * sigma(-x) * -math.tanh(x / 2)),
    "half": ("3 / (0.5 + exp2(x[i]))", -120, 60, lambda x: -3 * math.log(2)
             * 2 ** x / (0.5 + 2 ** x) ** 2, None),
    "silu": ("silu(x[i])", -80, 80,
             lambda x: sigma(x) + x * sigma(x) * sigma(-x), None),
    "softplus": ("softplus(x[i])", -87, 87, sigma,
                 lambda x: sigma(x) * sigma(-x)),
    "gelu": ("gelu(x[i])", -4, 12, lambda x:
             0.5 * math.erfc(-x / math.sqrt(2)) + x * bell(x), None),
    "gelu_tanh": ('gelu(x[i], approximate = "tanh")', -8, 8, gelu_tanh, None),
    "elu": ("elu(x[i])", -87, 50, lambda x: math.exp(min(x, 0)), None),
    "expm1": ("expm1(x[i])", -87, 80, math.exp, math.exp),
    "log1p": ("log1p(x[i])", -0.9999, 1e30, lambda x: 1 / (1 + x), None),
    "erf": ("erf(x[i])", -4, 4, lambda x: 2 / math.sqrt(math.pi)
            * math.exp(-x * x), None),
    "asinh": ("asinh(x[i])", -1e30, 1e30, lambda x: 1 / math.hypot(x, 1), None),
    "acosh": ("acosh(x[i])", 1.000001, 1e30, lambda x:
              1 / math.sqrt(x - 1) / math.sqrt(x + 1), None),
    "atanh": ("atanh(x[i])", -0.9999999, 0.9999999,
              lambda x: 1 / ((1 - x) * (1 + x)), None),
    "asin": ("asin(x[i])", -0.9999999, 0.9999999,
             lambda x: 1 / math.sqrt((1 - x) * (1 + x)), None),
    "acos": ("acos(x[i])", -0.9999999, 0.9999999,
             lambda x: -1 / math.sqrt((1 - x) * (1 + x)), None),
    "atan": ("atan(x[i])", -1e18, 1e18, lambda x: 1 / (1 + x * x), None),
    "sinh": ("sinh(x[i])", -80, 80, math.cosh, math.sinh),
    "cosh": ("cosh(x[i])", -80, 80, math.sinh, math.cosh),
    "tan": ("tan(x[i])", -1.57, 1.57, lambda x: 1 / math.cos(x) ** 2, None),
    "rsqrt": ("rsqrt(x[i])", 1e-20, 1e20, lambda x: -0.5 * x ** -1.5, None),
    "hypot": ("hypot(x[i], 3)", -1e18, 1e18,
              lambda x: x / math.hypot(x, 3), None),
    "logsumexp": ("log(exp(x[i] - max(x[i], 0)) + exp(-max(x[i], 0)))"
                  " + max(x[i], 0)", -87, 87, sigma, None),
}


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def points(lo, hi):
    """Both sides, evenly and by magnitude, none twice where signs may turn."""
    out = []
    for i in range(N // 2):
        out.append(lo + (hi - lo) * (i + 0.37) / (N // 2))
    for i in range(N - len(out)):
        side = hi if i % 2 or lo >= 0 else lo
        size = abs(side) * 10.0 ** (-7 * (i / N))
        out.append(min(max(math.copysign(size, side), lo), hi))
    return [f32(x) for x in out]


def write(path, tensors):
    head, at, data = {}, 0, b""
    for name, x in tensors.items():
        head[name] = {"dtype": "F32", "shape": [len(x)],
                      "data_offsets": [at, at + 4 * len(x)]}
        at += 4 * len(x)
        data += struct.pack("<%df" % len(x), *x)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)


def read(path):
    with open(path, "rb") as f:
        raw = f.read()
    n = int.from_bytes(raw[:8], "little")
    return {k: struct.unpack("<%df" % ((t["data_offsets"][1] -
                                        t["data_offsets"][0]) // 4),
                             raw[8 + n + t["data_offsets"][0]:
                                 8 + n + t["data_offsets"][1]])
            for k, t in json.loads(raw[8:8 + n]).items()
            if k != "__metadata__"}


def program(forms):
    lines = ["model far {"]
    for name, (text, *_, second) in forms.items():
        lines += ["  input x_%s : f32[%d];" % (name, N),
                  "  y_%s[i in 0..%d] : f32 = %s;" % (
                      name, N, text.replace("x[i]", "x_%s[i]" % name)),
                  "  s_%s = sum(y_%s);" % (name, name),
                  "  output g_%s = grad(s_%s, x_%s);" % (name, name, name)]
        if second:
            lines += ["  q_%s = sum(g_%s);" % (name, name),
                      "  output h_%s = grad(q_%s, x_%s);" % (name, name, name)]
    return "\n".join(lines) + "\n}\n"


def off(have, want, scale, by):
    """How many times the allowed error"""
    size = max(abs(want), 1e-37 / by, scale)
    return abs(have - want) / (by * size) if have == have else math.inf


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--dcc", default=os.environ.get("DCC_BIN", "build/dcc"))
    p.add_argument("--show", action="store_true")
    o = p.parse_args()
    bad = 0
    given = {"x_" + n: points(f[1], f[2]) for n, f in FORMS.items()}
    with tempfile.TemporaryDirectory() as tmp:
        m, i, out = (os.path.join(tmp, n) for n in ("m.dcl", "in", "out"))
        with open(m, "w") as f:
            f.write(program(FORMS))
        write(i, given)
        r = subprocess.run([o.dcc, "run", m, "--cpu", "--in", i, "--out", out],
                           capture_output=True, text=True)
        if r.returncode:
            sys.exit(r.stderr)
        got = read(out)
    for name, (_, _, _, slope, second) in FORMS.items():
        for letter, form in (("g", slope), ("h", second)):
            if not form:
                continue
            want = [form(x) for x in given["x_" + name]]
            scale = max(map(abs, want)) * 1e-2 if letter == "h" else 0
            by = 2.0 ** -12 if name == "gelu" else 1e-5
            worst = max((off(h, w, scale, by), x, h, w)
                        for x, h, w in zip(given["x_" + name],
                                           got[letter + "_" + name], want))
            bad += worst[0] > 1
            if o.show or worst[0] > 1:
                print("%s%s: %.3g of what is allowed at %.9g: %.9g, not %.9g" % (
                    name, "'s slope" if letter == "h" else "", *worst))
    print("%d functions, %d wrong" % (len(FORMS), bad))
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
