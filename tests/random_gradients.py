#!/usr/bin/env python3
"""Random statements, and their gradients against directional derivatives of
the forward pass in double (dcc verify --gradients: 1e-9 of |g||d|).

    random_gradients.py [--count 10000] [--seed 1] [--jobs 2] [--dcc PATH]

A model has inputs of rank 0 to 3 and one to four statements: pointwise ones,
reductions of every sort, with windows, strides, dilation, floors, remainders,
clamps, gathers, guards and data in indices and ranges; parts, scatters, choices,
redefinitions, operators of the library. Functions stay inside of where they are
smooth; values are random, so that ties do not happen. What dcc refuses is
counted by its message; exit status 1 if a gradient is wrong or dcc fails."""
import argparse
import collections
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
UNARY = ["sin(%s)", "cos(%s)", "tanh(%s)", "exp(tanh(%s))", "erf(%s)",
         "abs(%s)", "atan(%s)", "asinh(%s)", "erfc(%s)", "-%s", "f32(f16(%s))",
         "sinh(tanh(%s))", "cosh(tanh(%s))", "expm1(tanh(%s))",
         "exp2(tanh(%s))", "asin(0.9 * tanh(%s))", "acos(0.9 * tanh(%s))",
         "atanh(0.9 * tanh(%s))", "cbrt(2 + tanh(%s))", "tan(0.5 * tanh(%s))",
         "floor(%s)", "relu(%s)", "gelu(%s)", "silu(%s)", "stop(%s)",
         "sigmoid(%s)", "softplus(%s)", "elu(%s)", "hard_swish(%s)"]
SQUARE = ["sqrt(1.1 + %s)", "log(1.2 + %s)", "rsqrt(1.3 + %s)", "log1p(%s)",
          "acosh(1.5 + %s)", "1 / (1.4 + %s)", "log2(1.2 + %s)",
          "log10(1.5 + %s)"]
BINARY = ["(%s + %s)", "(%s - %s)", "%s * %s", "%s * %s", "min(%s, %s)",
          "max(%s, %s)", "atan2(%s, 1.5 + abs(%s))", "hypot(%s, 0.5 + abs(%s))",
          "copysign(%s, %s)", "fdim(%s, %s)", "%s / (1.5 + abs(%s))",
          "pow(1.2 + abs(%s), tanh(%s))", "fma(%s, %s, 0.3)"]
WHOLE = ["softmax(%s)", "log_softmax(%s)", "layer_norm(%s)", "gelu(%s)",
         "variance(%s)", "mean(%s)", "sum(%s, keep = true)", "relu(%s * 2)",
         "square_sum(%s)", "dropout(%s, 3, p = 0.3)", "mean(%s, axis = 0)",
         "softmax(%s, axis = 0)", "pad(%s, axis = 0, before = 1, value = 0.5)",
         "%s * 2 + exp(tanh(%s))", "concat(%s, %s, axis = 0)"]


class Model:
    def __init__(self, number, rng):
        self.r, self.number = rng, number
        self.tensor, self.data, self.line = {}, {}, []
        self.made, self.bound = 0, []
        for i in range(rng.randint(1, 3)):
            dims = [rng.randint(1, 6) for _ in range(rng.randint(0, 3))]
            self.input("x%d" % i, dims)
        for i in range(rng.randint(0, 2)):
            dims = [rng.randint(1, 6) for _ in range(rng.randint(0, 2))]
            lo, hi = rng.choice([(0, rng.randint(1, 6)), (-1, 4)])
            self.data["n%d" % i] = (dims, lo, hi)
            self.line.append("input n%d : i32[%s] in %d..%d;" % (
                i, ", ".join(map(str, dims)), lo, hi))

    def input(self, name, dims):
        self.tensor[name] = dims
        self.line.append("%s %s : f32[%s];" % (
            self.r.choice(["input", "input", "param"]), name,
            ", ".join(map(str, dims))))

    def some(self, *of):
        return self.r.choice(of)

    # ---- indices: (text, least, greatest)
    def atom(self):
        r = self.r
        if self.bound and r.random() < 0.93:
            name, n = r.choice(self.bound)
            return name, 0, n - 1
        k = r.randint(0, 2)
        return str(k), k, k

    def whole(self, name):
        """A read of integers, inside."""
        dims, lo, hi = self.data[name]
        at = [self.inside(n, plain=True) for n in dims]
        return "%s[%s]" % (name, ", ".join(at)), lo, hi - 1

    def place(self, plain):
        r = self.r
        if self.data and not plain and r.random() < 0.25:
            return self.whole(r.choice(sorted(self.data)))
        text, lo, hi = self.atom()
        how = r.randrange(10)
        if how == 0:
            c = r.randint(2, 3)
            return "%s * %d" % (text, c), lo * c, hi * c
        if how == 1:
            c = r.randint(2, 3)
            return "(%s) / %d" % (text, c), lo // c, hi // c
        if how == 2:
            c = r.randint(2, 4)
            return "(%s) %% %d" % (text, c), 0, c - 1
        if how == 3:
            c = r.randint(1, 5)
            return "%d - %s" % (c, text), c - hi, c - lo
        if how in (4, 5):
            other, a, b = self.atom()
            c, k = r.randint(1, 2), r.randint(0, 2)
            return ("%s * %d + %s - %d" % (text, c, other, k),
                    lo * c + a - k, hi * c + b - k)
        if how == 6:
            k = r.randint(1, 4)
            return "min(%s, %d)" % (text, k), min(lo, k), min(hi, k)
        return text, lo, hi

    def inside(self, n, plain=False):
        text, lo, hi = self.place(plain)
        how = self.r.randrange(3)
        if lo >= 0 and hi < n:
            return text
        if how == 0:
            return "(%s) %% %d" % (text, n)
        if how == 1:
            return "max(min(%s, %d), 0)" % (text, n - 1)
        name = [v for v, m in self.bound if m <= n]
        return self.r.choice(name) if name else str(self.r.randrange(n))

    def read(self):
        r = self.r
        name = r.choice(sorted(self.tensor))
        dims = self.tensor[name]
        if not dims:
            return name
        if r.random() < 0.3:
            at = [self.place(False)[0] for n in dims]
            out = self.some("0", "0.5", "-1") if r.random() < 0.8 else \
                "(%s)" % self.value(1)
            return "(%s[%s] or %s)" % (name, ", ".join(at), out)
        return "%s[%s]" % (name, ", ".join(self.inside(n) for n in dims))

    def condition(self, depth):
        r = self.r
        a = self.atom()[0]
        if self.data and r.random() < 0.3:
            a = self.whole(r.choice(sorted(self.data)))[0]
        if r.random() < 0.5:
            return "%s %s %s" % (a, self.some("<", ">=", "==", "!="),
                                 self.place(True)[0])
        return "%s %s %s" % (self.value(depth - 1), self.some("<", ">"),
                             self.some("0.2", self.value(depth - 1)))

    def value(self, depth):
        r = self.r
        how = r.randrange(12) if depth > 0 else 0
        if how < 3:
            if r.random() < 0.12:
                return self.some("0.7", "1.5", "f32(%s) * 0.3" % self.atom()[0])
            return self.read()
        if how < 6:
            return r.choice(UNARY) % ("(%s)" % self.value(depth - 1))
        if how < 7:
            return "(%s)" % (r.choice(SQUARE) % ("square(%s)" % self.value(
                depth - 1)))
        if how < 10:
            return "(%s)" % (r.choice(BINARY) % (
                "(%s)" % self.value(depth - 1), "(%s)" % self.value(depth - 1)))
        if how < 11:
            return "(%s ? %s : %s)" % (self.condition(depth),
                                       self.value(depth - 1),
                                       self.value(depth - 1))
        return self.reduction(depth - 1)

    def reduction(self, depth):
        r, red, names = self.r, [], []
        before = list(self.bound)
        op = self.some("sum", "sum", "sum", "mean", "max", "min", "prod")
        for _ in range(r.randint(1, 2 if op != "prod" else 1)):
            name = "r%d" % len(self.bound)
            n = r.randint(1, 4)
            end = str(n)
            if r.random() < 0.12 and before and op in ("sum", "prod"):
                end, n = "%s + 1" % before[0][0], before[0][1]
            red.append("%s in 0..%s" % (name, end))
            names.append((name, n))
            self.bound.append((name, n))
        factors = ["(%s)" % self.value(depth) for _ in range(r.randint(1, 3))]
        self.bound = before
        return "(%s(%s) %s)" % (op, ", ".join(red), " * ".join(factors))

    # ---- statements
    def shape(self):
        return [self.r.randint(1, 5) for _ in range(self.r.randint(0, 3))]

    def left(self, dims, parts=False):
        self.bound = [("abc"[d] + "_", n) for d, n in enumerate(dims)]
        return ", ".join("%s in 0..%d" % b for b in self.bound)

    def fresh(self):
        self.made += 1
        return "t%d" % self.made

    def statement(self):
        r = self.r
        how = r.randrange(12)
        name, dims = self.fresh(), self.shape()
        if how < 4:
            at = self.left(dims)
            self.line.append("%s[%s] : f32 = %s;" % (name, at, self.value(3)))
        elif how < 8:
            at = self.left(dims)
            self.line.append("%s[%s] : f32 = %s;" % (name, at,
                                                     self.reduction(2)))
        elif how == 8:  # parts
            dims = [r.randint(2, 5)] + dims[1:]
            cut = r.randint(1, dims[0] - 1)
            for lo, hi in ((0, cut), (cut, dims[0])):
                at = self.left([hi] + dims[1:])
                at = at.replace("a_ in 0..", "a_ in %d.." % lo)
                self.line.append("%s[%s] : f32 = %s;" % (name, at,
                                                         self.value(2)))
        elif how == 9 and self.data:  # scatter
            dims = [r.randint(2, 5)] + dims[1:2]
            self.line.append("%s : f32[%s] = %s;" % (
                name, ", ".join(map(str, dims)), self.some("0", "0.5")))
            which = r.choice(sorted(self.data))
            inner = self.data[which][0]
            self.bound = [("abc"[d] + "_", n) for d, n in enumerate(inner)]
            at = "%s[%s]" % (which, ", ".join(v for v, _ in self.bound))
            left = [at]
            if len(dims) > 1:
                self.bound.append(("z_", dims[1]))
                left.append("z_ in 0..%d" % dims[1])
            keep = dict(self.tensor)
            self.line.append("%s[%s] %s %s;" % (
                name, ", ".join(left), self.some("+=", "+=", "="),
                self.value(2)))
            self.tensor = keep
        elif how == 10:  # a choice of the greatest
            of = [t for t in sorted(self.tensor) if self.tensor[t]]
            if not of:
                return
            src = r.choice(of)
            n = self.tensor[src]
            self.bound = [("abcd"[d] + "_", k) for d, k in enumerate(n[:-1])]
            at = ", ".join(v for v, _ in self.bound)
            comma = ", " if at else ""
            left = ", ".join("%s in 0..%d" % b for b in self.bound)
            self.line.append("k%s[%s] = %s(q) %s[%s%sq];" % (
                name, at, self.some("argmax", "argmin"), src, at, comma))
            self.line.append("%s[%s] : f32 = %s[%s%sk%s[%s]] * %s;" % (
                name, left, src, at, comma, name, at, self.value(1)))
            dims = n[:-1]
        else:  # an operator of the library
            of = [t for t in sorted(self.tensor) if len(self.tensor[t]) >= 1]
            if not of:
                return
            src = r.choice(of)
            text = r.choice(WHOLE)
            self.line.append("%s = %s;" % (name, text % (
                (src,) * text.count("%s"))))
            self.line.append("s%s = square_sum(%s);" % (name, name))
            self.tensor["s" + name] = []
            return
        self.tensor[name] = dims

    def text(self):
        inputs = len(self.tensor)
        for _ in range(self.r.randint(1, 4)):
            self.statement()
        out = list(self.tensor)[inputs:]
        if not out:
            return None
        keep = out[-1:] + [t for t in out[:-1] if self.r.random() < 0.5]
        for t in keep:
            self.line.append("o%s = %s * 1;" % (t, t))
            self.line.append("output o%s;" % t)
        return "model m%d {\n  %s\n}\n" % (self.number, "\n  ".join(self.line))


SQUARED = "op square(x: T[..]) -> y: T[..] { y[..] = x[..] * x[..]; }\n"


def dcc(o, *args):
    return subprocess.run([o.dcc] + list(args), capture_output=True, text=True,
                          env=o.env)


def quick_compiler(o, tmp):
    """The oracles run for less time than optimising them takes."""
    path = os.path.join(tmp, "cc")
    with open(path, "w") as f:
        f.write('#!/bin/sh\nexec %s "$@" -O0\n' % os.environ.get("CC", "cc"))
    os.chmod(path, 0o755)
    o.env = dict(os.environ, CC=path)


def statements(text):
    """Of a model, without those that only make an output of another."""
    return sum(not re.match(r"model|}|\s*(input|param|output|ot\d+ =)", line)
               for line in text.splitlines())


def batch(o, first, n):
    """(models, statements, [texts of failures], Counter of refusals)"""
    good, bad, refused = [], [], collections.Counter()
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "m.dcl")
        for i in range(first, first + n):
            text = Model(i, random.Random("%d %d" % (o.seed, i))).text()
            if not text:
                continue
            with open(path, "w") as f:
                f.write(SQUARED + text)
            r = dcc(o, path, "--emit=ref", "-o", os.path.join(tmp, "r.c"))
            if r.returncode == 0:
                good.append(text)
            elif r.returncode == 1:
                say = re.sub(r"^.*?error: ", "", r.stderr.split("\n")[0])
                refused[re.sub(r"\d+", "N", re.sub(r"'[^']*'", "'..'",
                                                   say))] += 1
                if o.show:
                    print(r.stderr + text)
            else:
                bad.append("exit status %d: %s\n%s" % (
                    r.returncode, r.stderr[-600:], text))
        with open(path, "w") as f:
            f.write(SQUARED + "".join(good))
        r = dcc(o, "verify", "--gradients", path)
        if r.returncode:
            found = 0
            for text in good:
                with open(path, "w") as f:
                    f.write(SQUARED + text)
                r = dcc(o, "verify", "--gradients", path)
                if r.returncode:
                    found += 1
                    bad.append("%s%s" % ((r.stdout + r.stderr)[-900:], text))
            if not found:
                bad.append("wrong together, right alone: models %d..%d" % (
                    first, first + n))
    return len(good), sum(map(statements, good)), bad, refused


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--count", type=int, default=10000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--batch", type=int, default=100)
    p.add_argument("--dcc", default=os.environ.get("DCC_BIN", os.path.join(
        HERE, "..", "build", "dcc")))
    p.add_argument("--show", action="store_true", help="what dcc refuses")
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        quick_compiler(o, tmp)
        wrong = every(o)
    sys.exit(wrong)


def every(o):
    n, of, wrong, refused = 0, 0, 0, collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        jobs = [pool.submit(batch, o, i, min(o.batch, o.count - i))
                for i in range(0, o.count, o.batch)]
        for j in concurrent.futures.as_completed(jobs):
            good, more, bad, no = j.result()
            n += good
            of += more
            refused += no
            wrong += len(bad)
            for text in bad[:3]:
                print("WRONG\n" + text, flush=True)
            if o.show:
                print("%d models, %d statements" % (n, of), flush=True)
    for say, times in refused.most_common(12):
        print("refused %d: %s" % (times, say))
    print("%d models of %d statements verified, %d wrong, %d refused" % (
        n - wrong, of, wrong, sum(refused.values())))
    return wrong != 0 or n == 0


if __name__ == "__main__":
    main()
