#!/usr/bin/env python3
"""Random models for `dcc verify`: python3 random_models.py SEED COUNT > r.dcl

Every model is a chain of random statements over small tensors: elementwise
work, reductions, products, windows, views, gathers and state, each reading what
came before. Values stay bounded and smooth, so that the oracle's tolerances hold.
"""
import random
import sys

DIMS = [1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 33]
NAMES = "ijklm"


def prod(dims):
    n = 1
    for d in dims:
        n *= d
    return n


class Model:
    def __init__(self, rng, name):
        self.r, self.name, self.n = rng, name, 0
        self.decl, self.body, self.t = [], [], []
        self.type = rng.choice(["f32", "f32", "f16", "f16", "bf16"])

    def fresh(self, letter="t"):
        self.n += 1
        return f"{letter}_{self.n}"

    def dims(self, rank, most=3000):
        while True:
            d = [self.r.choice(DIMS) for _ in range(rank)]
            if prod(d) <= most:
                return d

    def declare(self, kind, dims, type=None, rest=""):
        name = self.fresh(kind[0])
        shape = "[" + ", ".join(map(str, dims)) + "]" if dims else ""
        self.decl.append(f"{kind} {name} : {type or self.type}{shape}{rest};")
        return name

    def add(self, text, name, dims):
        self.body.append(("@nofuse " if self.r.random() < 0.04 else "") + text)
        self.t.append((name, dims))

    def pick(self, rank=None, least=0):
        fit = [t for t in self.t if (rank is None or len(t[1]) == rank)
               and len(t[1]) >= least]
        if not fit or self.r.random() < 0.15:
            d = self.dims(rank if rank is not None else self.r.randint(max(least, 1), 3))
            self.t.append((self.declare("input", d), d))
            return self.t[-1]
        # late tensors are likelier: longer chains
        return fit[min(len(fit) - 1, int(len(fit) * self.r.random() ** 0.6))]

    # ---- statements

    def unary(self):
        x, d = self.pick()
        f = self.r.choice(["relu({})", "tanh({})", "sigmoid({})", "{} * 0.5 + 1",
                           "gelu({})", "abs({})", "1 - {}", "exp(-abs({}))",
                           "tanh({0}) * {0}", "min(max({}, -1), 1)"])
        y = self.fresh()
        self.add(f"{y} = {f.format(x)};", y, d)

    def binary(self):
        x, d = self.pick()
        same = [t for t in self.t if t[1] == d]
        op = self.r.choice(["{} + {}", "tanh({}) * {}", "max({}, {})", "{} - 0.5 * {}"])
        y = self.fresh()
        if self.r.random() < 0.6 and same:
            z = self.r.choice(same)[0]
        else:  # a broadcast parameter
            keep = self.r.randint(0, len(d))
            z = self.declare("param", [n if self.r.random() < 0.8 else 1
                                       for n in d[len(d) - keep:]])
        self.add(f"{y} = {op.format(x, z)};", y, d)

    def reduction(self):
        x, d = self.pick(least=1)
        axis = self.r.randrange(len(d))
        y = self.fresh()
        keep = self.r.random() < 0.5
        f = self.r.choice(["sum", "mean", "variance", "max", "min"])
        to = d[:axis] + ([1] if keep else []) + d[axis + 1:]
        if f in ("max", "min"):
            left = [v for i, v in enumerate(NAMES[:len(d)]) if i != axis]
            to = d[:axis] + d[axis + 1:]
            at = ", ".join(NAMES[:len(d)])
            self.add(f"{y}[{', '.join(left)}] = {f}({NAMES[axis]}) {x}[{at}];", y, to)
        else:
            self.add(f"{y} = {f}({x}, axis = {axis}{', keep = true' if keep else ''})"
                     f"{' * 0.1' if f == 'sum' else ''};", y, to)

    def norm(self):
        x, d = self.pick(least=1)
        y = self.fresh()
        axis = self.r.randrange(-len(d), len(d))
        if d[axis] < 2:
            return
        f = self.r.choice([f"softmax({x}, axis = {axis})", f"layer_norm({x}, eps = 0.1)",
                           f"log_softmax({x}, axis = {axis}) * 0.1"])
        if d[-1] < 2 and "layer" in f:
            return
        self.add(f"{y} = {f};", y, d)

    def argmax(self):
        name = self.declare("input", [self.r.choice(DIMS), 9], "f32")
        y = self.fresh()
        self.body.append(f"output {y} = argmax({name} * {name}, axis = {self.r.choice([0, 1])});")

    def linear(self):
        x, d = self.pick(least=1)
        k = self.r.choice([1, 1, 2, 3])
        e = self.r.choice(DIMS)
        ys = []
        for _ in range(k):
            w = self.declare("param", [e, d[-1]])
            b = ", " + self.declare("param", [e]) if self.r.random() < 0.5 else ""
            y = self.fresh()
            self.add(f"{y} = linear({x}, {w}{b});", y, d[:-1] + [e])
            ys.append(y)
        if k > 1 and self.r.random() < 0.7:
            y = self.fresh()
            self.add(f"{y} = {' + '.join(f'tanh({v})' for v in ys)};", y, d[:-1] + [e])

    def matmul(self):
        x, d = self.pick(rank=self.r.choice([2, 3]))
        y = self.fresh()
        if self.r.random() < 0.4:
            self.add(f"{y}[{'b, ' if len(d) == 3 else ''}i, j] = sum(k) "
                     f"{x}[{'b, ' if len(d) == 3 else ''}i, k] * "
                     f"{x}[{'b, ' if len(d) == 3 else ''}j, k] / {d[-1]};",
                     y, d[:-1] + [d[-2]])
            return
        z = [t for t in self.t if t[1][:-1] == d[:-2] + [d[-1]] and len(t[1]) == len(d)]
        n = self.r.choice(DIMS)
        if z:
            (z, zd) = self.r.choice(z)
            n = zd[-1]
        else:
            z = self.declare("input", d[:-2] + [d[-1], n])
        self.add(f"{y} = matmul({x}, {z}) * {1 / d[-1]:.4f};", y, d[:-1] + [n])

    def conv(self):
        n, c, h = self.r.choice([1, 2]), self.r.choice([1, 3, 4, 8, 16]), self.r.choice([5, 6, 9])
        fit = [t for t in self.t if len(t[1]) == 4]
        x, d = self.r.choice(fit) if fit else (None, [n, c, h, h])
        if x is None:
            x = self.declare("input", d)
        kind = self.r.choice(["conv", "conv", "depth", "pool", "avg", "up"])
        y = self.fresh()
        if min(d[2:]) < 3 or prod(d) > 6000:
            return
        if kind in ("conv", "depth"):
            g = d[1] if kind == "depth" else 1
            k = d[1] if kind == "depth" else self.r.choice([1, 4, 8, 12])
            r = self.r.choice([1, 3])
            s = self.r.choice([1, 1, 2])
            w = self.declare("param", [k, d[1] // g, r, r])
            o = [(v + 2 * (r // 2) - r) // s + 1 for v in d[2:]]
            self.add(f"{y} = conv2d({x}, {w}, pad = {r // 2}, stride = {s}, groups = {g});",
                     y, [d[0], k] + o)
        elif kind == "up":
            self.add(f"{y} = upsample({x});", y, d[:2] + [v * 2 for v in d[2:]])
        else:
            f = "max_pool" if kind == "pool" else "avg_pool"
            self.add(f"{y} = {f}({x}, kernel = 3, stride = 2, pad = 1);", y,
                     d[:2] + [(v + 2 - 3) // 2 + 1 for v in d[2:]])

    def view(self):
        x, d = self.pick(least=1)
        y = self.fresh()
        kind = self.r.choice(["transpose", "reshape", "slice", "pad", "concat", "shift",
                              "reverse", "repeat", "diagonal", "split"])
        at = NAMES[:len(d)]
        a = self.r.randrange(len(d))
        if kind == "transpose":
            p = list(range(len(d)))
            self.r.shuffle(p)
            self.add(f"{y} = transpose({x}, perm = [{', '.join(map(str, p))}]);", y,
                     [d[i] for i in p])
        elif kind == "reshape":
            left, to = prod(d), []
            while left > 1 and len(to) < 3:
                f = self.r.choice([v for v in range(1, left + 1) if left % v == 0])
                to.append(f)
                left //= f
            to.append(left)
            self.r.shuffle(to)
            self.add(f"{y} = reshape({x}, shape = [{', '.join(map(str, to))}]);", y, to)
        elif kind == "slice" and d[a] > 1:
            f, s = self.r.randrange(d[a] - 1), self.r.choice([1, 1, 2])
            last = self.r.randint(f + 1, d[a])
            self.add(f"{y} = slice({x}, axis = {a}, first = {f}, last = {last}, step = {s});",
                     y, d[:a] + [-(-(last - f) // s)] + d[a + 1:])
        elif kind == "pad":
            b, e = self.r.randrange(3), self.r.randrange(3)
            self.add(f"{y} = pad({x}, axis = {a}, before = {b}, after = {e}, value = 2);", y,
                     d[:a] + [d[a] + b + e] + d[a + 1:])
        elif kind == "concat":
            other = [t for t in self.t if len(t[1]) == len(d) and
                     all(i == a or t[1][i] == d[i] for i in range(len(d)))]
            z, zd = self.r.choice(other)
            self.add(f"{y} = concat({x}, {z}, axis = {a});", y,
                     d[:a] + [d[a] + zd[a]] + d[a + 1:])
        elif kind in ("shift", "reverse"):
            left = ", ".join(f"{v} in 0..{n}" for v, n in zip(at, d))
            read = [f"{v} - 1" if i == a else v for i, v in enumerate(at)]
            if kind == "reverse":
                read = [f"{d[a] - 1} - {v}" if i == a else v for i, v in enumerate(at)]
                self.add(f"{y}[{left}] = {x}[{', '.join(read)}] + {x}[{', '.join(at)}];", y, d)
            else:
                self.add(f"{y}[{left}] = ({x}[{', '.join(read)}] or 1) * 0.5;", y, d)
        elif kind == "repeat" and prod(d) < 1500:
            left = ", ".join(f"{v} in 0..{n * 2 if i == a else n}"
                             for i, (v, n) in enumerate(zip(at, d)))
            read = [f"{v} / 2" if i == a else v for i, v in enumerate(at)]
            self.add(f"{y}[{left}] = {x}[{', '.join(read)}];", y,
                     d[:a] + [d[a] * 2] + d[a + 1:])
        elif kind == "diagonal" and len(d) == 2 and d[0] == d[1]:
            self.add(f"{y}[i] = {x}[i, i];", y, [d[0]])
        elif kind == "split" and d[a] % 2 == 0:
            self.add(f"{y} = split({x}, parts = 2, part = {self.r.randrange(2)}, axis = {a});",
                     y, d[:a] + [d[a] // 2] + d[a + 1:])

    def gather(self):
        x, d = self.pick(least=1)
        n = self.r.choice(DIMS)
        ids = self.declare("input", [n], "i32", f" in 0..{d[0]}")
        y = self.fresh()
        rest = list(NAMES[1:len(d)])
        how = self.r.choice([f"{ids}[i]", f"{d[0] - 1} - {ids}[i]",
                             f"({ids}[i] + 1) % {d[0]}"])
        self.add(f"{y}[{', '.join(['i'] + rest)}] = {x}[{', '.join([how] + rest)}];", y,
                 [n] + d[1:])

    def mixed(self):
        """Integers, booleans and both 16-bit floats, cast into what follows."""
        d = self.dims(self.r.choice([1, 2, 3]), 1500)
        at = ", ".join(NAMES[:len(d)])
        t = self.r.choice(["i8", "u8", "i32", "bool", "f16", "bf16"])
        low = {"i8": " in -100..100", "u8": " in 0..200", "i32": " in -1000..1000"}
        a = self.declare("input", d, t, low.get(t, "")) + f"[{at}]"
        y = self.fresh()
        b = None
        same = [v for v in self.t if v[1] == d]
        if same:
            b = f"{self.r.choice(same)[0]}[{at}]"
        n = self.r.choice([2, 3, 7])
        if t in ("f16", "bf16"):
            e = f"tanh({a} * 0.5)"
        elif t == "bool":
            e = f"({a} ? 0.5 : {b or 'f32(' + a + ')'})"
        else:
            e = self.r.choice([
                f"f32({a}) * 0.01", f"({a} % {n}) * 0.25", f"f32({a} / {n} - {a} % {n}) * 0.1",
                f"f32(i8({a} * 3)) * 0.01", f"({a} > {n} ? 1.0 : f32({a}) * 0.001)",
                f"f32(min(max({a}, -{n}), {n})) * 0.5", f"f32(abs({a}) > {n} && {a} != 9)"])
        more = f" * 0.5 + {b}" if b and t != "bool" else ""
        self.add(f"{y}[{at}] = {self.type}({e}{more});", y, d)

    def integers(self):
        """Products and reductions of small integers, exact."""
        m, n, k = (self.r.choice(DIMS) for _ in range(3))
        t, u = self.r.choice(["i8", "u8", "i32"]), self.r.choice(["i8", "u8"])
        a = self.declare("input", [m, k], t, " in 0..7")
        y = self.fresh()
        kind = self.r.choice(["product", "reduce", "prod"])
        if kind == "product":
            b = self.declare("input", [n, k], u, " in 0..7")
            self.add(f"{y}[i, j] = {self.type}(0.001 * (sum(k) i32({a}[i, k]) * i32({b}[j, k])));", y,
                     [m, n])
        elif kind == "reduce":
            f = self.r.choice(["sum", "max", "min"])
            self.body.append(f"{y}_r[i] = {f}(k) {a}[i, k];")
            self.add(f"{y}[i] = {self.type}({y}_r[i] * 0.01);", y, [m])
        else:
            self.body.append(f"{y}_r[i] = prod(k) (1 + f32({a}[i, k]) * 0.01);")
            self.add(f"{y}[i] = {self.type}({y}_r[i] * 0.1);", y, [m])

    def window(self):
        """Sums, means and maxima over windows of any step, dilation and offset."""
        x, d = self.pick(least=1)
        a = self.r.randrange(len(d))
        w, step, far = self.r.choice([2, 3, 5]), self.r.choice([1, 2, 3]), self.r.choice([1, 2])
        first, n = self.r.randint(-3, 2), max(1, d[a] // step)
        left = ", ".join(f"{v} in 0..{n if i == a else e}"
                         for i, (v, e) in enumerate(zip(NAMES, d)))
        at = [f"{v} * {step} + w * {far} + ({first})" if i == a else v
              for i, v in enumerate(NAMES[:len(d)])]
        f = self.r.choice(["sum", "mean", "max", "min"])
        out = self.r.choice(["0", "1"] if f != "max" else ["0", "-inf", "1"])
        y = self.fresh()
        fixed = " * 0.2" if f == "sum" else ""
        wrap = ("max(min(", ", 4), -4)") if out == "-inf" else ("", "")
        self.body.append(f"{y}_w[{left}] = {f}(w in 0..{w}) ({x}[{', '.join(at)}] or {out}){fixed};")
        self.add(f"{y} = {wrap[0]}{y}_w{wrap[1]};", y, d[:a] + [n] + d[a + 1:])

    def argext(self):
        """An index that a later gather uses."""
        name = self.declare("input", [self.r.choice(DIMS), 9], "f32")
        x, d = self.pick(least=1)
        if d[0] < 9:
            return
        f, y = self.r.choice(["argmax", "argmin"]), self.fresh()
        rest = ", ".join(NAMES[1:len(d)])
        self.body.append(f"{y}_a[i] = {f}(n) {name}[i, n];")
        left = ", ".join(["i"] + list(NAMES[1:len(d)]))
        rows = int(self.decl[-1].split("[")[1].split(",")[0]) if self.decl[-1].split()[1] == name \
            else None
        if rows:
            self.add(f"{y}[{left}] = {x}[{y}_a[i]{', ' + rest if rest else ''}];", y, [rows] + d[1:])

    def state(self):
        x, d = self.pick(least=1)
        h = self.declare("state", d)
        y = self.fresh()
        kind = self.r.choice(["blend", "shift", "old", "row", "product"])
        at = ", ".join(NAMES[:len(d)])
        if kind == "blend":
            self.body.append(f"{h} = {h} * 0.5 + {x};")
        elif kind == "shift":
            read = ", ".join(["i - 1"] + list(NAMES[1:len(d)]))
            self.body.append(f"{h}[{at}] = i > 0 ? {h}[{read}] or 0 : {x}[{at}];")
        elif kind == "row":
            p = self.declare("input", [], "i32", f" in 0..{d[0]}")
            rest = ", ".join([p] + list(NAMES[1:len(d)]))
            last = ", ".join(["0"] + list(NAMES[1:len(d)]))
            self.body.append(f"{h}[{rest}] = {x}[{last}];")
        elif kind == "product" and len(d) == 2:
            w = self.declare("param", [d[1], d[1]])
            self.body.append(f"{h} = tanh(linear({h}, {w}) + {x});")
        else:
            o = self.fresh()
            self.body.append(f"{o} = {h} * 1.5;")
            self.body.append(f"{h} = {x} - {o} * 0.25;")
            self.t.append((o, d))
        self.add(f"{y} = {h} + 0.25;", y, d)

    def make(self):
        steps = [self.unary] * 4 + [self.binary] * 5 + [self.reduction] * 3 + \
            [self.norm] * 2 + [self.linear] * 3 + [self.matmul] * 2 + [self.conv] * 2 + \
            [self.view] * 6 + [self.gather] + [self.state] + [self.argmax] + \
            [self.mixed] * 3 + [self.integers] * 2 + [self.window] * 3 + [self.argext]
        for _ in range(self.r.randint(3, 14)):
            self.r.choice(steps)()
            self.t = [t for t in self.t if len(t[1]) <= 5 and prod(t[1]) <= 8000]
        made = [t for t in self.t if t[0].startswith("t_")] or [self.pick()]
        out = self.r.sample(made, min(len(made), self.r.choice([1, 1, 2, 3])))
        if made[-1] not in out:
            out.append(made[-1])
        for x, _ in out:
            how = self.r.choice(["{}", "{}", "{} * 2"])
            self.body.append(f"output o{x[1:]} = {how.format(x)};")
        return "\n  ".join([f"model {self.name} {{"] + self.decl + self.body) + "\n}\n"


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    for i in range(count):
        rng = random.Random(seed * 100003 + i)
        print(Model(rng, f"r{seed}_{i}").make())


main()
