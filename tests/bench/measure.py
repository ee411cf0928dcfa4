"""The measuring process of bench.py: jobs come as JSON lines, answers go back.

Everything runs on one stream of one process. A side is one way to compute a
shape: dcc's library, PyTorch's kernels, one algorithm of cuBLASLt. Each side
is checked against the product in double, then captured as one CUDA graph over
rotated operands; the graphs are replayed in turns.
"""
import ctypes
import itertools
import json
import math
import os
import random
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "gpu")]
import attention                # noqa: E402
import shapes as bench_shapes   # noqa: E402
from run import Emitted         # noqa: E402

ROTATE_BYTES = 240e6      # of weights at least, where the nodes suffice
ACTIVATIONS = 4           # sets of inputs and outputs
NODES = 64, 512           # of a graph, least and most
GRAPH_US = 2000           # a graph is made this long by more nodes
LONGEST_US = 120e3        # and kept below this by fewer
WORKSPACE = 64 << 20      # bytes for cuBLASLt
HEURISTICS = 32
# cuDNN adds long sums up from parts of f16
RIVALS_GRADIENT = 2e-3
TOLERANCE = {"f16": 1e-3, "exact": 1e-5, "3xtf32": 1e-5, "tf32": 2e-3}
PEAK = {"f16": 700e12, "exact": 50e12, "3xtf32": 50e12, "tf32": 350e12}


class Tainted(RuntimeError):
    """A capture broke off; the process has to start again."""


def answer(**message):
    print(json.dumps(message), flush=True)


# ---- the machine: a GPU, or a CPU to try this script on

class Gpu:
    device, real = "cuda", True

    def __init__(self, torch):
        self.torch = torch
        self.stream = torch.cuda.Stream()
        torch.cuda.set_stream(self.stream)

    def sync(self):
        self.torch.cuda.synchronize()

    def capture(self, side, n):
        graph = self.torch.cuda.CUDAGraph()
        self.sync()
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            for i in range(n):
                side.run(i)
            graph.capture_end()
        except Exception as e:
            raise Tainted(f"{side.name}: {e}") from e
        return graph.replay

    def times(self, calls):
        """Microseconds of each of the calls, which follow one another."""
        marks = [self.torch.cuda.Event(enable_timing=True)
                 for _ in range(len(calls) + 1)]
        marks[0].record()
        for call, mark in zip(calls, marks[1:]):
            call()
            mark.record()
        self.sync()
        return [a.elapsed_time(b) * 1e3 for a, b in zip(marks, marks[1:])]

    def free(self):
        self.torch.cuda.empty_cache()


class Cpu:
    device, real = "cpu", False

    class stream:
        cuda_stream = None

    def __init__(self, torch):
        pass

    def sync(self):
        pass

    def capture(self, side, n):
        return lambda: [side.run(i) for i in range(n)]

    def times(self, calls):
        spent = []
        for call in calls:
            start = time.perf_counter()
            call()
            spent.append((time.perf_counter() - start) * 1e6)
        return spent

    def free(self):
        pass


# ---- operands

def expected_us(shape):
    """A lower bound, roughly: sizes graphs before anything is measured."""
    return 1.5 + 1e6 * max(shape.flops / PEAK[shape.math],
                           shape.bytes / 4.2e12)


def node_count(us):
    n = min(max(GRAPH_US / us, NODES[0]), NODES[1])
    n = min(n, max(LONGEST_US / us, 4))
    return int(n) // 4 * 4


class Data:
    """Random operands: x and y in 4 sets, w and b in as many as are needed.
    Values are normal; w is scaled so that results are, too."""

    def __init__(self, torch, shape, machine, nodes):
        self.torch, self.shape, self.machine = torch, shape, machine
        self.type = torch.float16 if shape.type == "f16" else torch.float32
        self.sets = min(nodes, math.ceil(ROTATE_BYTES / shape.weight_bytes))
        self.turns = ACTIVATIONS
        if shape.kind in bench_shapes.ROW_TEXT:  # all the bytes are theirs
            self.turns *= math.ceil(ROTATE_BYTES / shape.bytes / ACTIVATIONS)
        taps = math.prod(shape.w) / shape.b
        if shape.kind in attention.KINDS:
            taps = 1
        if shape.kind in bench_shapes.GRADIENTS:
            taps = shape.flops / 2 / math.prod(shape.y)
        self.x = self.rotated(self.turns, shape.x)
        self.w = self.rotated(self.sets, shape.w, 1 / math.sqrt(taps))
        self.b = self.rotated(self.sets, (shape.b,))
        self.y = self.rotated(self.turns, shape.y)
        if shape.kind in attention.KINDS:
            for b in self.b:
                attention.prepare(torch, shape.kind, b)

    def rotated(self, count, dims, scale=1.0):
        n = math.prod(dims)
        pitch = (n + 127) // 128 * 128
        flat = self.torch.empty(count * pitch, dtype=self.type,
                                device=self.machine.device)
        flat.normal_(0, scale)
        return [flat[i * pitch:i * pitch + n].view(dims) for i in range(count)]

    def at(self, i):
        """Operands of node i: x, w, b, y."""
        k = i % self.sets
        return (self.x[i % self.turns], self.w[k], self.b[k],
                self.y[i % self.turns])

    def poison(self):
        for y in self.y:
            y.fill_(float("nan"))

    def reference(self, i):
        """Node i's result in double."""
        torch, s = self.torch, self.shape
        x, w, b, _ = (t.double() for t in self.at(i))
        if s.kind in attention.KINDS:
            return attention.reference(torch, s.kind, s.at, x, w, b)
        if s.kind in bench_shapes.ROW_TEXT:
            return row_call(torch, s.kind)(x, w, b)
        if s.kind in ("gemm", "gelu"):
            y = x @ w.T
            if s.kind == "gelu":
                y = torch.nn.functional.gelu(y + b)
            return y
        if s.kind == "wm":
            return w.T @ x
        y = torch.zeros(s.y, dtype=torch.float64, device=x.device)
        if s.kind == "up":
            return self._scattered(x, w, y)
        if s.kind == "dg":
            return self._scattered(x, w.permute(3, 1, 2, 0), y)
        x = torch.nn.functional.pad(x, (0, 0) + (s.pad,) * 4)
        out = s.w if s.kind == "wg" else s.y
        span = [s.stride * (d - 1) + 1 for d in out[1:3]]
        for r, c in itertools.product(range(s.window), repeat=2):
            part = x[:, r:r + span[0]:s.stride, c:c + span[1]:s.stride]
            if s.kind == "wg":
                y[:, r, c] = w.flatten(0, 2).T @ part.flatten(0, 2)
            else:
                y += (part @ w[:, r, c].T if s.kind == "conv" else
                      part * w[r, c])
        if s.kind == "wg":
            return y
        return (y + b).relu_()

    def _scattered(self, x, w, y):
        """x's elements times each tap, added where the tap takes them."""
        s = self.shape
        full = self.torch.zeros(
            (y.shape[0], y.shape[1] + 2 * s.pad, y.shape[2] + 2 * s.pad,
             y.shape[3]), dtype=y.dtype, device=y.device)
        span = [s.stride * (d - 1) + 1 for d in x.shape[1:3]]
        for r, c in itertools.product(range(s.window), repeat=2):
            full[:, r:r + span[0]:s.stride,
                 c:c + span[1]:s.stride] += x @ w[:, r, c].T
        return full[:, s.pad:s.pad + y.shape[1], s.pad:s.pad + y.shape[2]]


def error_of(torch, got, want):
    got = got.double()
    if not torch.isfinite(got).all():
        return float("inf")
    return ((got - want).norm() / want.norm()).item()


# ---- sides: name; run(i) enqueues node i and returns where its result goes

class DccSide:
    """params: a model for every set of weights, which are loaded there. model:
    its name in the library, where there are many."""

    def __init__(self, name, path, data, params=False, model="bench"):
        self.name, self.data = name, data
        self.stream = data.machine.stream
        if params:
            self.models = [self._loaded(path, k) for k in range(data.sets)]
        else:
            self.models = [Emitted(path, model, "")]

    def _loaded(self, path, k):
        w = [t.cpu() for t in (self.data.w[k], self.data.b[k])]
        model = Emitted.__new__(Emitted)
        model.lib, model.name = ctypes.CDLL(path), "bench"
        model.lib.dcc_error.restype = ctypes.c_char_p
        header = open(path[:-3] + ".h").read()
        model.handle = ctypes.c_void_p()
        model.fields = {side: Emitted._fields(header, f"bench_{side}")
                        for side in ("inputs", "outputs")}
        hosts = (ctypes.c_void_p * 2)(*(t.data_ptr() for t in w))
        if model.lib.dcc_model_create_with(
                ctypes.byref(model.handle),
                ctypes.byref(ctypes.c_char.in_dll(model.lib, "bench_desc")),
                hosts):
            raise RuntimeError(model.lib.dcc_error().decode())
        return model

    def run(self, i):
        x, w, b, y = self.data.at(i)
        inputs = {"x": x, "w": w, "b": b}
        model = self.models[i % len(self.models)]
        model.runner(inputs, {"y": y}, self.stream)()
        return y

    def close(self):
        self.data.machine.sync()
        for model in self.models:
            model.destroy()


class TorchSide:
    """call(x, w, b, y) computes into y, or returns a tensor of its own."""

    def __init__(self, name, data, call):
        self.name, self.data, self.call = name, data, call
        self.kept = {}

    def run(self, i):
        out = self.call(*self.data.at(i), i % self.data.sets)
        self.kept[i % self.data.turns] = out
        return out

    def close(self):
        self.kept.clear()


class CopySide:
    """A copy that moves as many bytes as the shape does, half of them read,
    from and to as many sets as its activations have."""

    def __init__(self, name, data, call):
        self.name, self.call, self.turns = name, call, data.turns
        n = (data.shape.bytes // 2 + 15) // 16 * 4  # words
        self.parts = [[data.torch.zeros(n, dtype=data.torch.float32,
                                        device=data.machine.device)
                       for _ in range(self.turns)] for _ in range(2)]

    def run(self, i):
        k = i % self.turns
        return self.call(self.parts[0][k], self.parts[1][k])

    def close(self):
        self.parts = None


class LtSide:
    def __init__(self, lt, number, data):
        self.name, self.data = f"cublasLt #{number}", data
        self.lt, self.number = lt, number

    def run(self, i):
        x, w, b, y = self.data.at(i)
        self.lt.run(self.number, x, w, b, y)
        return y

    def close(self):
        pass


class Lt:
    """cublaslt.cu's library for one problem."""
    lib = None

    @classmethod
    def load(cls, path):
        """The path of cuBLASLt, PyTorch's own; or why there is none."""
        with open("/proc/self/maps") as f:
            own = {line.split()[-1] for line in f if "libcublasLt.so" in line}
        own = sorted(own)[0] if own else "libcublasLt.so"
        try:
            ctypes.CDLL(own, mode=ctypes.RTLD_GLOBAL)
            cls.lib = ctypes.CDLL(path)
        except OSError as e:
            return f"NO cublasLt RIVALS: {e}"
        cls.lib.lt_open.argtypes = ([ctypes.POINTER(ctypes.c_void_p)] +
                                    [ctypes.c_int] * 6 +
                                    [ctypes.c_size_t, ctypes.c_int])
        cls.lib.lt_run.argtypes = [ctypes.c_void_p, ctypes.c_int] + \
            [ctypes.c_void_p] * 6
        cls.lib.lt_close.argtypes = [ctypes.c_void_p]
        return own

    def __init__(self, shape, workspace, stream):
        ends = {"gemm": 0, "gelu": 3, "conv": 2}
        self.handle = ctypes.c_void_p()
        self.workspace, self.stream = workspace.data_ptr(), stream.cuda_stream
        self.count = self.lib.lt_open(
            ctypes.byref(self.handle), *shape.is_product,
            0 if shape.type == "f16" else 2, int(shape.math == "tf32"),
            ends[shape.kind], WORKSPACE, HEURISTICS)
        if self.count < 0:
            raise RuntimeError(f"cublasLt: status {-self.count}")

    def run(self, number, x, w, b, y):
        status = self.lib.lt_run(self.handle, number, x.data_ptr(),
                                 w.data_ptr(), b.data_ptr(), y.data_ptr(),
                                 self.workspace, self.stream)
        if status:
            raise RuntimeError(f"cublasLt: status {status}")

    def close(self):
        self.lib.lt_close(self.handle)


def product_call(torch, shape):
    """PyTorch's kernels for a product."""
    gelu = torch.ops.aten.gelu.out

    def plain(x, w, b, y, _):
        return torch.mm(x, w.t(), out=y)

    def with_gelu(x, w, b, y, _):
        return gelu(torch.addmm(b, x, w.t()), out=y)
    return with_gelu if shape.kind == "gelu" else plain


def row_call(torch, kind):
    """What a kind along rows or columns is, in PyTorch's terms."""
    fn = torch.nn.functional
    return {
        "softmax": lambda x, w, b: fn.softmax(x, -1),
        "norm": lambda x, w, b: fn.layer_norm(x, x.shape[-1:], w, b),
        "rms": lambda x, w, b: fn.rms_norm(x + w, x.shape[-1:], b, 1e-6),
        "stats": lambda x, w, b: torch.stack(
            torch.var_mean(x, 0, correction=0)[::-1]),
    }[kind]


def attention_calls(torch, shape, data):
    return attention.calls(torch, shape.kind, shape.at, data)


def row_calls(torch, shape, data):
    call = row_call(torch, shape.kind)
    calls = {"PyTorch": lambda x, w, b, y, k: call(x, w, b)}
    if data.machine.real:
        made = torch.compile(call, mode="max-autotune-no-cudagraphs",
                             dynamic=False)
        calls["torch.compile"] = lambda x, w, b, y, k: made(x, w, b)
    return calls


def window_calls(torch, shape, data):
    """PyTorch's ways for a convolution: its own kernels, cuDNN's fused one.
    Memory is channels-last throughout."""
    fn = torch.nn.functional
    if shape.kind == "up":
        return up_calls(torch, shape, data)
    groups = 1 if shape.kind == "conv" else shape.b
    if shape.kind == "conv":
        weights = [w.permute(0, 3, 1, 2) for w in data.w]
    else:
        weights = [w.permute(2, 0, 1).unsqueeze(1).contiguous()
                   for w in data.w]
    stride, pad = [shape.stride] * 2, [shape.pad] * 2

    def own(x, w, b, y, k):
        x = x.permute(0, 3, 1, 2)
        y = fn.conv2d(x, weights[k], b, stride, pad, 1, groups)
        return y.relu_().permute(0, 2, 3, 1)

    def fused(x, w, b, y, k):
        x = x.permute(0, 3, 1, 2)
        return torch.cudnn_convolution_relu(
            x, weights[k], b, stride, pad, [1, 1], groups
        ).permute(0, 2, 3, 1)
    calls = {"PyTorch conv, bias, relu": own}
    if shape.kind == "conv" and data.machine.real:
        calls["cudnn_convolution_relu"] = fused
    return calls


def up_calls(torch, shape, data):
    """cuDNN's data gradient, through PyTorch."""
    weights = [w.permute(3, 0, 1, 2).contiguous(
        memory_format=torch.channels_last) for w in data.w]

    def own(x, w, b, y, k):
        return torch.nn.functional.conv_transpose2d(
            x.permute(0, 3, 1, 2), weights[k], None, shape.stride, shape.pad
        ).permute(0, 2, 3, 1)
    return {"PyTorch conv_transpose2d": own}


def gradient_calls(torch, shape, data):
    """cuBLAS's product, or cuDNN's gradient through PyTorch, channels last."""
    if shape.kind == "wm":
        return {"PyTorch": lambda x, w, b, y, k: torch.mm(w.t(), x, out=y)}
    data_too = shape.kind == "dg"
    spare = torch.empty(shape.y, dtype=data.type, device=data.machine.device
                        ).permute(0, 3, 1, 2)

    def own(x, w, b, y, k):
        x, w = x.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2)
        given = (x, spare, w) if data_too else (w, x, spare)
        return torch.ops.aten.convolution_backward(
            *given, None, [shape.stride] * 2, [shape.pad] * 2, [1, 1], False,
            [0, 0], 1, [data_too, not data_too, False])[not data_too].permute(
                0, 2, 3, 1)
    return {"PyTorch": own}


# ---- measuring

class Bench:
    def __init__(self, torch, machine, options):
        self.torch, self.machine = torch, machine
        self.o = options
        self.workspace = torch.empty(WORKSPACE if machine.real else 1,
                                     dtype=torch.uint8, device=machine.device)
        self.ceiling = None

    def ceilings(self):
        """What this GPU does: GB/s of a copy (read and written), TFLOP/s of
        PyTorch's 4096^3 products."""
        torch, found = self.torch, {}
        if not self.machine.real:
            return dict(copy_gbs=1, f16=1, exact=1, tf32=1)
        a = torch.empty(1 << 30, dtype=torch.float16, device="cuda").normal_()
        b = torch.empty_like(a)
        us = self.machine.times([lambda: b.copy_(a)] * 6)
        found["copy_gbs"] = 4 * a.numel() / statistics.median(us[1:]) / 1e3
        del a, b
        for math_ in ("f16", "exact", "tf32"):
            kind = torch.float16 if math_ == "f16" else torch.float32
            torch.backends.cuda.matmul.allow_tf32 = math_ == "tf32"
            t = [torch.empty(4096, 4096, dtype=kind, device="cuda").normal_()
                 for _ in range(4)]
            us = self.machine.times([lambda: torch.mm(t[0], t[1].t(), out=t[2]),
                                     lambda: torch.mm(t[1], t[3].t(), out=t[2])
                                     ] * 4)
            found[math_] = 2 * 4096**3 / statistics.median(us[2:]) / 1e6
        torch.backends.cuda.matmul.allow_tf32 = False
        return {k: round(v, 1) for k, v in found.items()}

    def ceiling_us(self, shape):
        peak = self.ceiling["tf32"] / 3 if shape.math == "3xtf32" else \
            self.ceiling[shape.math]
        return max(shape.flops / peak / 1e6,
                   shape.bytes / self.ceiling["copy_gbs"] / 1e3)

    def rivals(self, shape, data, note):
        """PyTorch's own side, and all others."""
        others = []
        if shape.kind in ("gemm", "gelu"):
            name = "PyTorch" + (" addmm, gelu" if shape.kind == "gelu" else "")
            own = TorchSide(name, data, product_call(self.torch, shape))
        else:
            ways = (attention_calls if shape.kind in attention.KINDS
                    else row_calls if shape.kind in bench_shapes.ROW_TEXT
                    else window_calls)
            if shape.kind in bench_shapes.GRADIENTS:
                ways = gradient_calls
            calls = ways(self.torch, shape, data)
            own, *others = [TorchSide(n, data, c) for n, c in calls.items()]
        self.lt = None
        if shape.is_product and Lt.lib:
            try:
                self.lt = Lt(shape, self.workspace, self.machine.stream)
                others += [LtSide(self.lt, i, data)
                           for i in range(self.lt.count)]
            except RuntimeError as e:
                note.append(str(e))
        return own, others

    def checked(self, side, want, tolerance):
        """The side's error on node 0, its output poisoned before."""
        side.data.poison()
        out = side.run(0)
        self.machine.sync()
        error = error_of(self.torch, out, want)
        if not error <= tolerance:
            raise ValueError(f"{side.name}: error {error:.2e}")
        return error

    def estimate(self, side, expected):
        """Microseconds of one run, roughly."""
        if expected > 2000:
            return min(self.machine.times([lambda: side.run(1)] * 2))
        n = max(1, min(32, int(1000 / expected)))
        replay = self.machine.capture(side, n)
        return min(self.machine.times([replay] * 3)[1:]) / n

    def screen(self, sides, expected, note):
        """The sides that run, quickest first."""
        found = []
        for side in sides:
            try:
                side.run(0)
                side.us = self.estimate(side, expected)
                found.append(side)
            except Tainted:
                raise
            except RuntimeError as e:
                note.append(f"{side.name}: {e}"[:160])
        return sorted(found, key=lambda side: side.us)

    def turns(self, sides, nodes):
        """{name: us of a node, one entry a round}; the sides take turns, in
        another order each round: where power is the limit, the clock that a
        side has depends on which one was before it."""
        longest = max(side.us for side in sides) * nodes
        if longest > 2 * LONGEST_US:
            nodes = max(4, int(nodes * 2 * LONGEST_US / longest) // 4 * 4)
        replays = [self.machine.capture(side, nodes) for side in sides]
        whole = sum(side.us for side in sides) * nodes
        rounds = 2 + min(15, max(5, int(self.o["ms"] * 1e3 / whole)))
        turns = list(range(len(sides)))
        order = [random.Random(r).sample(turns, len(turns))
                 for r in range(rounds)]
        spent = iter(self.machine.times([replays[j] for r in order for j in r]))
        us = {side.name: [] for side in sides}
        for number, r in enumerate(order):
            for j in r:
                t = next(spent) / nodes
                if number > 0:  # the first round warms up
                    us[sides[j].name].append(t)
        return nodes, us, replays

    def last_errors(self, sides, replays, nodes, data):
        """Errors of the graphs' last nodes, outputs poisoned before."""
        want, found = data.reference(nodes - 1), {}
        for side, replay in zip(sides, replays):
            data.poison()
            replay()
            self.machine.sync()
            out = (side.kept if isinstance(side, TorchSide) else
                   side.data.y)[(nodes - 1) % data.turns]
            found[side.name] = error_of(self.torch, out, want)
        return found

    def copies(self, shape, data):
        """Where memory is the bound: copies, by memcpy and by a kernel."""
        if shape.kind != "dw":
            return []
        sides = [CopySide("copy", data, lambda a, b: b.copy_(a)),
                 CopySide("copy by a kernel", data,
                          lambda a, b: self.torch.neg(a, out=b))]
        for side in sides:
            side.us = self.estimate(side, expected_us(shape))
        return sides

    def finalists(self, own, others, want, tolerance, note):
        """PyTorch's own side, and the two quickest of the others that are
        right."""
        chosen = []
        for side in [own] + others:
            try:
                side.error = self.checked(side, want, tolerance)
                chosen.append(side)
            except (ValueError, RuntimeError) as e:
                note.append(str(e)[:160])
            if len(chosen) == 3:
                break
        return chosen

    def dcc_sides(self, job, shape, data, want):
        sides = []
        for name in ("untuned", "tuned", "plain"):
            if name not in job:
                continue
            answer(at=name)
            side = DccSide(name, job[name], data,
                           self.o["params"] or shape.packed)
            if name == "plain":
                side.run(0)
                side.error = 0
            else:
                side.error = self.checked(side, want, TOLERANCE[shape.math])
            side.us = self.estimate(side, expected_us(shape))
            sides.append(side)
        return sides

    def shape(self, job):
        shape = bench_shapes.Shape(job["shape"])
        self.torch.backends.cuda.matmul.allow_tf32 = shape.math == "tf32"
        nodes, note = node_count(expected_us(shape)), []
        data = Data(self.torch, shape, self.machine, nodes)
        want = data.reference(0)
        sides = self.dcc_sides(job, shape, data, want)
        answer(at="rivals")
        own, others = self.rivals(shape, data, note)
        ran = self.screen([own] + others, expected_us(shape), note)
        allowed = (RIVALS_GRADIENT if shape.kind in bench_shapes.GRADIENTS
                   else TOLERANCE[shape.math])
        rivals = self.finalists(own, [s for s in ran if s is not own], want,
                                allowed, note)
        answer(at="turns")
        copies = self.copies(shape, data)
        nodes, us, replays = self.turns(sides + rivals + copies, nodes)
        errors = self.last_errors(sides + rivals, replays, nodes, data)
        errors.pop("plain", None)
        result = dict(
            nodes=nodes, sets=data.sets, rounds=len(us[sides[0].name]),
            screened={s.name: round(s.us, 2) for s in ran[:8]},
            tried=len(ran), notes=note[:6], last_errors=errors,
            rivals={s.name: round(statistics.median(us[s.name]), 3)
                    for s in rivals})
        for side in sides:
            if side.name != "plain":
                result[side.name] = self.result(shape, side, own, rivals,
                                                copies, us)
                if not errors[side.name] <= TOLERANCE[shape.math]:
                    result["error"] = (f"{side.name}: error "
                                       f"{errors[side.name]:.2e} in the graph")
        for side in sides + rivals + copies:
            side.close()
        if self.lt:
            self.lt.close()
        return result

    def result(self, shape, side, own, rivals, copies, us):
        """A row's fields for one of dcc's sides. of_copy: of a large copy's
        bytes a second; of_same_copy: the time of a copy of as many bytes, the
        quicker of two ways, over its own."""
        def ratio(name):
            return statistics.median(
                a / b for a, b in zip(us[name], us[side.name]))
        mine = statistics.median(us[side.name])
        r = dict(us=mine, error=side.error,
                 gbs=shape.bytes / mine / 1e3,
                 tflops=shape.flops / mine / 1e6,
                 of_copy=shape.bytes / mine / 1e3 / self.ceiling["copy_gbs"],
                 of_ceiling=self.ceiling_us(shape) / mine)
        if rivals:
            best = min(rivals, key=lambda s: statistics.median(us[s.name]))
            r.update(rival=best.name, ratio=ratio(best.name),
                     rival_us=statistics.median(us[best.name]),
                     errors=side.error / max(best.error, 1e-12))
        if own in rivals:
            r["own"] = ratio(own.name)
        if copies:
            best = min(copies, key=lambda s: statistics.median(us[s.name]))
            r.update(copy=best.name, of_same_copy=ratio(best.name),
                     copy_us=statistics.median(us[best.name]))
        if "plain" in us:
            r["plain"] = 1 / ratio("plain")
        return {k: v if isinstance(v, str) else float(f"{v:.5g}")
                for k, v in r.items()}

    def contenders(self, job, sides):
        """Those that take turns: with `near`, all that were not so many times
        slower than the quickest. What the others took is known well enough."""
        if "near" not in job or not sides:
            return sides
        limit = job["near"] * min(side.us for side in sides)
        by_text = {v["text"]: v for v in job["variants"]}
        for side in sides:
            if side.us > limit:
                by_text[side.name].update(us=round(side.us, 3), once=True)
                side.close()
        return [side for side in sides if side.us <= limit]

    def variants(self, job):
        """Times of some variants of a shape, in turns with PyTorch."""
        shape = bench_shapes.Shape(job["shape"])
        self.torch.backends.cuda.matmul.allow_tf32 = shape.math == "tf32"
        nodes, note = node_count(expected_us(shape)), []
        nodes = min(nodes, job.get("nodes", nodes))
        data = Data(self.torch, shape, self.machine, nodes)
        want, sides = data.reference(0), []
        for v in job["variants"]:
            answer(at=v["text"])
            try:
                side = DccSide(v["text"], v["library"], data,
                               self.o["params"] or shape.packed,
                               v.get("model", "bench"))
                v["error"] = self.checked(side, want, TOLERANCE[shape.math])
                side.us = self.estimate(side, max(expected_us(shape),
                                                  v["predicted_us"]))
                sides.append(side)
            except ValueError as e:
                v["wrong"] = str(e)
        sides = self.contenders(job, sides)
        own, _ = self.rivals(shape, data, note)
        sides += self.screen([own], expected_us(shape), note)
        answer(at="turns")
        nodes, us, _ = self.turns(sides, nodes)
        for v in job["variants"]:
            if v["text"] in us:
                v["us"] = round(statistics.median(us[v["text"]]), 3)
        mark_level(job["variants"], us)
        for side in sides:
            side.close()
        if self.lt:
            self.lt.close()
        return dict(variants=job["variants"], nodes=nodes, notes=note,
                    torch_us=round(statistics.median(us[own.name]), 3)
                    if own.name in us else None)


def mark_level(variants, us):
    """`level`: not told apart from the quickest, as quick as that in a third
    of the rounds."""
    ran = [v for v in variants if v["text"] in us]
    for v in ran:
        best = us[min(ran, key=lambda v: v["us"])["text"]]
        wins = sum(a <= b for a, b in zip(us[v["text"]], best))
        v["level"] = wins * 3 >= len(best)


def serve(options):
    """One job a line; `at` messages tell what is being tried."""
    import torch
    machine = (Cpu if options["cpu"] else Gpu)(torch)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    bench = Bench(torch, machine, options)
    versions = {"torch": torch.__version__}
    if machine.real:
        versions["cudnn"] = torch.backends.cudnn.version()
    answer(ready=versions)
    for line in sys.stdin:
        job, result = json.loads(line), {}
        try:
            if "ceilings" in job:
                bench.ceiling = job["ceilings"] or bench.ceilings()
                result = dict(bench.ceiling)
                if job["lt"]:
                    result["lt"] = Lt.load(job["lt"])
            else:
                result = (bench.variants if "variants" in job
                          else bench.shape)(job)
        except Tainted as e:
            answer(done=dict(error=str(e)[:400]), again=True)
            return
        except (RuntimeError, ValueError, OSError, AttributeError) as e:
            result = dict(error=f"{type(e).__name__}: {e}"[:400])
        lost = "CUDA error" in result.get("error", "") or \
            "unspecified launch" in result.get("error", "")
        answer(done=result, again=lost)
        if lost:
            return
        machine.free()


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
