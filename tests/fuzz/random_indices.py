#!/usr/bin/env python3
"""Random index arithmetic for `dcc verify`: random_indices.py SEED COUNT > i.dcl

Tensors are small, coefficients and what is between a sum and its `/` or `%` are
not: sub-expressions leave 32 bits, and come back. Every read is inside: by a
last `%`, by min and max, or with an `or`. In conditions, reductions, products
of all families, gathers and views.
"""
import random
import sys

LIMIT = 1 << 60
COEFFICIENTS = [1, 2, 3, 7, 64, 1000, 46341, 65536, 10**6 + 3, 10**8, 2**30, 2**31 - 1, 2**31,
                3 * 10**9, 2**32 + 1, 10**11]
DIVISORS = [2, 3, 5, 8, 17, 1000, 65537, 10**6, 10**8, 2**31 - 1, 2**31, 5 * 10**9]


class Idx:
    """Text, and the range of its value."""

    def __init__(self, text, lo, hi, atom=False):
        self.text, self.lo, self.hi, self.atom = text, lo, hi, atom

    def __str__(self):
        return self.text if self.atom else f"({self.text})"


class Model:
    def __init__(self, rng, name):
        self.r, self.name = rng, name
        self.decl, self.tensor = [], 0

    def declare(self, type, dims, rest=""):
        self.tensor += 1
        name = f"x{self.tensor}"
        kind = self.r.choice(["input", "input", "param"]) if type != "i32" else "input"
        self.decl.append(f"{kind} {name} : {type}[{', '.join(map(str, dims))}]{rest};")
        return name

    def leaf(self, vars):
        if self.r.random() < 0.12:
            hi = self.r.choice([2, 9, 1000, 2**31 - 1])
            v, n = self.r.choice(vars)
            return Idx(f"{self.declare('i32', [n], f' in 0..{hi}')}[{v}]", 0, hi - 1, True)
        v, n = self.r.choice(vars)
        return Idx(v, 0, n - 1, True)

    def expr(self, vars, depth):
        if depth == 0:
            return self.leaf(vars)
        a = self.expr(vars, depth - 1)
        kind = self.r.choice("**+++-/%mM")
        if kind == "*":
            c = self.r.choice(COEFFICIENTS) * self.r.choice([1, 1, 1, -1])
            lo, hi = sorted((a.lo * c, a.hi * c))
            text = f"{a} * {c}" if c >= 0 else f"{a} * ({c})"
        elif kind in "/%":
            d = self.r.choice(DIVISORS)
            lo, hi = (a.lo // d, a.hi // d) if kind == "/" else (0, d - 1)
            text = f"{a} {kind} {d}"
        else:
            b = self.expr(vars, self.r.randrange(depth)) if self.r.random() < 0.8 else None
            if not b:
                c = self.r.choice(COEFFICIENTS)
                b = Idx(str(c), c, c, True)
            lo, hi, text = {
                "+": (a.lo + b.lo, a.hi + b.hi, f"{a} + {b}"),
                "-": (a.lo - b.hi, a.hi - b.lo, f"{a} - {b}"),
                "m": (min(a.lo, b.lo), min(a.hi, b.hi), f"min({a}, {b})"),
                "M": (max(a.lo, b.lo), max(a.hi, b.hi), f"max({a}, {b})")}[kind]
        return a if lo < -LIMIT or hi > LIMIT else Idx(text, lo, hi, kind in "mM")

    def index(self, vars):
        return self.expr(vars, self.r.choice([0, 1, 2, 2, 3, 4]))

    def plain(self, vars):
        while True:
            declared = len(self.decl)
            e = self.index(vars)
            if len(self.decl) == declared:
                return e
            del self.decl[declared:]

    def read(self, type, vars, rank, plain=None):
        """A read of a new tensor, all of it inside."""
        dims, at, outside = [], [], False
        for d in range(rank):
            if plain and d == rank - 1:
                at.append(plain[0])
                dims.append(plain[1])
                continue
            n = self.r.choice([1, 2, 5, 8, 16, 31])
            e = self.index(vars)
            how = self.r.choice(["%", "%", "clamp", "or"])
            if how == "%":
                at.append(f"{e} % {n}")
            elif how == "clamp":
                at.append(f"min(max({e}, 0), {n - 1})")
            else:
                at.append(e.text)
                outside = True
            dims.append(n)
        text = f"{self.declare(type, dims)}[{', '.join(at)}]"
        return f"({text} or {self.r.choice([0, 0, 1])})" if outside else text

    def make(self):
        r = self.r
        type = r.choice(["f32", "f32", "f16", "bf16"])
        out = [("i", r.choice([2, 5, 16, 33])), ("j", r.choice([1, 3, 8, 24]))]
        left = ", ".join(f"{v} in 0..{n}" for v, n in out)
        kind = r.choice(["map", "map", "reduce", "product", "product", "view", "value"])
        k = ("k", r.choice([3, 16, 40]))
        over = f"{k[0]} in 0..{k[1]}"
        if kind == "map":
            # values of i32, where data is among them: those have no more bits
            a, b = self.plain(out), self.plain(out)
            body = (f"{a} {r.choice(['<', '>', '>=', '<=', '==', '!='])} {b} "
                    f"? {self.read(type, out, 2)} : {self.read(type, out, 1)} * 0.5")
        elif kind == "reduce":
            body = f"{r.choice(['sum', 'max', 'mean'])}({over}) {self.read(type, out + [k], 2)}"
        elif kind == "product":
            plain = k if r.random() < 0.6 else None
            a = self.read(type, [out[0], k] if r.random() < 0.8 else out + [k], 2, plain)
            b = self.read(type, [out[1], k], 2, plain)
            body = f"sum({over}) {a} * {b}"
        elif kind == "view":
            e = self.index(out)
            return self.text([f"v[{left}] = {self.read(type, out, 2)};",
                              f"output y[{left}] = v[{e} % {out[0][1]}, "
                              f"{self.index(out)} % {out[1][1]}] + 1;"])
        else:
            e = self.plain(out)
            body = f"({e} % 1000) * 0.25 + {self.read(type, out, 1)}"
        return self.text([f"output y[{left}] = {body};"])

    def text(self, body):
        return "\n  ".join([f"model {self.name} {{"] + self.decl + body) + "\n}\n"


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    for i in range(count):
        print(Model(random.Random(seed * 100003 + i), f"i{seed}_{i}").make())


main()
