#!/usr/bin/env python3
"""Times XLA (JAX's jit) on networks of examples/, for tests/gpu/run.py --xla.

    tests/gpu/xla.py --cases resnet50.f16.b32,bert_base.f16.b1
    tests/gpu/xla.py --cpu --cases vit_b16.f32.b2 -D S=32 -D L=1

The text of tools/nets.py runs under JAX's tracing: its tensors are Tensor
here, which answers PyTorch's calls with JAX's.  XLA gets what a user who wants
speed would give it: weights as arguments, batch norms folded into the
convolutions, channels last, attention by jax.nn and by cuDNN, CUDA graphs
(XLA_FLAGS, unless set); f32 is f32, no TF32.  A network is timed as a queue of
calls and, where Python's part of a call may show, as a loop inside one call;
the quickest counts.  Every result is compared with the network in double.

Prints JSON lines: {"begin": case}, then {"case": case, ...} with xla_us,
xla_error (norm-relative), xla_tried, or xla_note, which says why there is no
time.  Programs are compiled one at a time: two at once spoil each other's
measurements of kernels.  Exit status 3 without JAX on a GPU.
"""
import argparse
import faulthandler
import gc
import json
import os
import statistics
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault(      # CUDA graphs, as the other two have them
    "XLA_FLAGS", "--xla_gpu_graph_min_graph_size=1 "
    "--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUBLASLT,CUDNN,CUSTOM_CALL,"
    "CONDITIONAL,WHILE,DYNAMIC_SLICE_FUSION")
import jax                                      # noqa: E402
import jax.numpy as jnp                         # noqa: E402
import numpy                                    # noqa: E402
import torch                                    # noqa: E402
from jax import lax                             # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run                                      # noqa: E402
import nets                                     # noqa: E402
import reference                                # noqa: E402

KINDS = {"f16": jnp.float16, "bf16": jnp.bfloat16, "f32": jnp.float32}
NHWC, HWIO = (0, 2, 3, 1), (2, 3, 1, 0)
LOOP = 32               # runs in one call
LOOP_BELOW_US = 2000    # above, the GPU hides Python's part of a call


# ---- PyTorch's calls on JAX's arrays

class Tensor:
    """A JAX array behind the methods that tools/nets.py calls.

    `order[i]` is the axis, as PyTorch counts them, that lies at the array's
    place i: images stay channels-last whatever the text says, and a transpose
    only renames.
    """
    attention = None    # implementation of jax.nn.dot_product_attention
    attends = False     # one was traced
    device = "cpu"      # what the text makes of numbers alone

    def __init__(self, array, order=None, name=None):
        self.array = array
        self.order = tuple(order or range(array.ndim))
        self.name = name    # of a weight; of a convolution's, and its axis

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = func.__name__.lstrip("_")
        if name not in FUNCTIONS:
            raise NotImplementedError(f"torch's {name} on JAX")
        return FUNCTIONS[name](*args, **(kwargs or {}))

    @property
    def shape(self):
        return tuple(self.array.shape[self.order.index(a)]
                     for a in range(self.array.ndim))

    @property
    def plain(self):
        return self.held(range(self.array.ndim))

    def held(self, order):
        """The array with PyTorch's axes in this order."""
        places = [self.order.index(a) for a in order]
        return self.array.transpose(places)

    def place(self, axis):
        return self.order.index(axis % self.array.ndim)

    def map(self, f):
        """f of every element."""
        return Tensor(f(self.array), self.order)

    @property
    def dtype(self):
        return getattr(torch, self.array.dtype.name)

    @property
    def mT(self):
        return self.transpose(-1, -2)

    def meet(self, other, f):
        """f of both, broadcast as PyTorch does, laid out as the longer."""
        other = tensor(other)
        missing = len(self.order) - len(other.order)
        if missing < 0:
            return other.meet(self, lambda a, b: f(b, a))
        if missing:
            other = Tensor(other.plain.reshape((1,) * missing + other.shape))
        return Tensor(f(self.array, other.held(self.order)), self.order)

    def __add__(self, other):
        return self.meet(other, jnp.add)

    def __sub__(self, other):
        return self.meet(other, jnp.subtract)

    def __mul__(self, other):
        return self.meet(other, jnp.multiply)

    def __getitem__(self, key):
        if isinstance(key, tuple):
            key = tuple(k.numpy() if isinstance(k, torch.Tensor) else k
                        for k in key)
        return Tensor(self.plain[key])

    def __setitem__(self, key, value):
        self.array = self.plain.at[key].set(value.plain)
        self.order = tuple(range(self.array.ndim))

    def long(self):
        return self

    def int(self):
        return self.map(lambda a: a.astype(jnp.int32))

    def argmax(self, axis):
        return Tensor(self.plain.argmax(axis))

    def mean(self, axes, keepdim=False):
        places = tuple(map(self.place, axes))
        if keepdim:
            return self.map(lambda a: a.mean(places, keepdims=True))
        kept = [a for a in self.order if a not in axes]
        return Tensor(self.array.mean(places),
                      [sorted(kept).index(a) for a in kept])

    def permute(self, *axes):
        return Tensor(self.array, [axes.index(a) for a in self.order])

    def transpose(self, a, b):
        a, b = a % self.array.ndim, b % self.array.ndim
        swap = {a: b, b: a}
        return Tensor(self.array, [swap.get(x, x) for x in self.order])

    def split(self, size, axis):
        place = self.place(axis)
        parts = range(size, self.array.shape[place], size)
        return [Tensor(p, self.order)
                for p in jnp.split(self.array, list(parts), place)]

    def chunk(self, n, axis):
        return self.split(self.array.shape[self.place(axis)] // n, axis)

    def expand(self, *sizes):
        sizes = [old if n < 0 else n for n, old in zip(sizes, self.shape)]
        return Tensor(jnp.broadcast_to(self.plain, sizes))

    def flatten(self, first, last=-1):
        """Axes that lie side by side are one without being moved."""
        last %= self.array.ndim
        place, gone = self.order.index(first), last - first
        if self.order[place:place + gone + 1] != tuple(range(first, last + 1)):
            return Tensor(self.plain).flatten(first, last)
        sizes = list(self.array.shape)
        sizes[place:place + gone + 1] = [-1]
        order = [a - gone if a > last else a for a in self.order
                 if not first < a <= last]
        return Tensor(self.array.reshape(sizes), order)

    def unflatten(self, axis, sizes):
        place = self.place(axis)
        axis, more = self.order[place], len(sizes) - 1
        order = [a + more if a > axis else a for a in self.order]
        order[place:place + 1] = range(axis, axis + more + 1)
        shape = list(self.array.shape)
        shape[place:place + 1] = sizes
        return Tensor(self.array.reshape(shape), order)


def tensor(x):
    """Numbers that the text made by PyTorch's own calls are constants."""
    if not isinstance(x, torch.Tensor):
        return x
    return Tensor(jnp.asarray(x.float().numpy(), str(x.dtype)[6:]))


def linear(x, weight, bias=None):
    y = Tensor(jnp.einsum("...k,nk->...n", x.plain, weight.plain))
    return y if bias is None else y + bias


def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    y = lax.conv_general_dilated(
        x.held(NHWC), weight.held(HWIO), (stride, stride),
        [(padding, padding)] * 2, rhs_dilation=(dilation, dilation),
        dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups)
    y = Tensor(y, NHWC, (weight.name, 0))
    return y if bias is None else y + bias[:, None, None]


def conv1d(x, weight, bias=None, stride=1, padding=0):
    y = lax.conv_general_dilated(
        x.held((0, 2, 1)), weight.held((2, 1, 0)), (stride,),
        [(padding, padding)], dimension_numbers=("NHC", "HIO", "NHC"))
    y = Tensor(y, (0, 2, 1))
    return y if bias is None else y + bias[:, None]


def conv_transpose2d(x, weight, bias=None, stride=1, padding=0):
    """A convolution of x with stride - 1 zeros between its points; the
    weight's axes are in, out."""
    edge = weight.shape[2] - 1 - padding
    y = lax.conv_general_dilated(
        x.held(NHWC), weight.held((2, 3, 0, 1))[::-1, ::-1], (1, 1),
        [(edge, edge)] * 2, lhs_dilation=(stride, stride),
        dimension_numbers=("NHWC", "HWIO", "NHWC"))
    y = Tensor(y, NHWC, (weight.name, 1))
    return y if bias is None else y + bias[:, None, None]


def avg_pool2d(x, size):
    a, window = x.held(NHWC), (1, size, size, 1)
    total = lax.reduce_window(a.astype(jnp.float32), 0.0, lax.add, window,
                              window, "VALID")
    return Tensor((total / size ** 2).astype(a.dtype), NHWC)


def max_pool2d(x, size, stride=None, padding=0, *_, **__):
    a, edge = x.held(NHWC), (padding, padding)
    step = stride or size
    return Tensor(lax.reduce_window(
        a, numpy.array(-numpy.inf, a.dtype), lax.max, (1, size, size, 1),
        (1, step, step, 1), ((0, 0), edge, edge, (0, 0))), NHWC)


def layer_norm(x, shape, weight, bias, eps):
    a = x.plain.astype(jnp.float32)
    a = a - a.mean(-1, keepdims=True)
    a = a * lax.rsqrt((a * a).mean(-1, keepdims=True) + eps)
    return Tensor((a * weight.plain + bias.plain).astype(x.array.dtype))


def rms_norm(x, shape, weight, eps):
    a = x.plain.astype(jnp.float32)
    a = a * lax.rsqrt((a * a).mean(-1, keepdims=True) + eps)
    return Tensor((a * weight.plain).astype(x.array.dtype))


def cat(parts, axis):
    """Images stay as they lie."""
    order = parts[0].order
    return Tensor(jnp.concatenate([p.held(order) for p in parts],
                                  parts[0].place(axis)), order)


def attention(q, k, v, is_causal=False, enable_gqa=False):
    """PyTorch's axes are batch, head, position, channel."""
    order, Tensor.attends = (0, 2, 1, 3), True
    return Tensor(jax.nn.dot_product_attention(
        q.held(order), k.held(order), v.held(order), is_causal=is_causal,
        implementation=Tensor.attention), order)


def gelu(x, approximate="none"):
    return x.map(lambda a: jax.nn.gelu(a, approximate == "tanh"))


FUNCTIONS = {
    "addmm": lambda bias, x, w: Tensor(x.plain @ w.plain) + bias,
    "avg_pool2d": avg_pool2d,
    "bmm": lambda a, b: Tensor(a.plain @ b.plain),
    "cat": cat,
    "conv1d": conv1d,
    "conv2d": conv2d,
    "conv_transpose2d": conv_transpose2d,
    "embedding": lambda ids, w, *_, **__: Tensor(
        w.plain.at[ids.plain].get(mode="promise_in_bounds")),
    "gelu": gelu,
    "layer_norm": layer_norm,
    "leaky_relu": lambda x, negative_slope, **_: x.map(
        lambda a: jax.nn.leaky_relu(a, negative_slope)),
    "linear": linear,
    "max_pool2d": max_pool2d,
    "relu": lambda x, **_: x.map(jax.nn.relu),
    "relu6": lambda x, **_: x.map(jax.nn.relu6),
    "rms_norm": rms_norm,
    "scaled_dot_product_attention": attention,
    "sigmoid": lambda x: x.map(jax.nn.sigmoid),
    "silu": lambda x, **_: x.map(jax.nn.silu),
    "softmax": lambda x, dim, **_: x.map(
        lambda a: jax.nn.softmax(a, x.place(dim))),
    "stack": lambda parts, axis: Tensor(
        jnp.stack([p.plain for p in parts], axis)),
    "tanh": lambda x: x.map(jnp.tanh),
}


class Weights(nets.Weights):
    """Weights as JAX arrays; a batch norm is the convolution's ahead of it.

    Without `arrays`, a trace finds out which ones there are: `orders` by name,
    and `norms`, the batch norm of each convolution.
    """

    def __init__(self, kind, arrays=None):
        self.kind, self.arrays = kind, arrays
        self.orders, self.shapes, self.norms = {}, {}, {}

    def __call__(self, name, *shape, std=None, mean=0.0):
        order = HWIO if len(shape) == 4 else tuple(range(len(shape)))
        self.orders[name] = order
        held = self.shapes[name] = tuple(shape[a] for a in order)
        if self.arrays is None:
            return Tensor(jnp.zeros(held, KINDS[self.kind]), order, name)
        return Tensor(self.arrays[name], order, name)

    def bn(self, x, path, gain=1.0, eps=1e-5):
        c = x.shape[1]
        self.norms[path] = x.name, eps
        if not x.name:                          # no convolution ahead of it
            x = x * self(path + ".scale", c)[:, None, None]
        return x + self(path + ".folded", c)[:, None, None]

    def packed(self, tensors):
        """PyTorch's weights by name as JAX's, folded and in order."""
        values = dict(tensors)
        for path, (conv, eps) in self.norms.items():
            g, b, m, v = (tensors[f"{path}.{n}"].double() for n in (
                "weight", "bias", "running_mean", "running_var"))
            scale = g / (v + eps).sqrt()
            values[path + ".folded"] = b - m * scale
            values[path + ".scale"] = scale
            if conv:
                weight, axis = conv
                values[weight] = tensors[weight].double() * scale.reshape(
                    (-1,) + (1,) * (3 - axis))
        return {n: to_jax(values[n].to(reference.KINDS[self.kind]), order)
                for n, order in self.orders.items()}


def to_jax(tensor, order):
    """One axis on the way: strides of axes of size 1 are nobody's promise."""
    held = tensor.permute(order)
    return jnp.from_dlpack(held.reshape(-1)).reshape(held.shape)


# ---- programs

class Network:
    """One case, as a function (weights, inputs, state) -> (outputs, state)."""

    def __init__(self, name, sizes):
        self.name = name
        self.model, self.kind, batch = name.split(".")
        self.batch = int(batch[1:])
        self.net, defaults, spec = nets.NETS[self.model]
        self.sizes = {**defaults, **{k: v for k, v in sizes.items()
                                     if k in defaults}}
        size = {**self.sizes, "B": self.batch}
        kind = KINDS[self.kind]
        self.inputs = {}
        for n, dims, bound in reference.input_shapes(spec, size):
            dims = [dims[a] for a in self.order(dims)]
            if n != "pos":                      # a number in the text
                self.inputs[n] = jax.ShapeDtypeStruct(
                    dims, jnp.int32 if bound else kind)
        self.state = []
        if self.model in reference.CACHED:
            d = self.sizes
            heads = d["D"] // reference.CACHED[self.model]
            one = jax.ShapeDtypeStruct((self.batch, heads, d["S"], 64), kind)
            self.state = [[one] * d["L"]] * 2
        self.weights, Tensor.attends = Weights(self.kind), False
        jax.eval_shape(lambda i, s: self.apply(self.weights, i, s),
                       self.inputs, self.state)
        self.attends = Tensor.attends
        self.params = {n: jax.ShapeDtypeStruct(s, kind)
                       for n, s in self.weights.shapes.items()}

    @staticmethod
    def order(dims):
        return NHWC if len(dims) == 4 else tuple(range(len(dims)))

    def apply(self, weights, inputs, state):
        """Traces the text; a decoder is at its last position, as in run.py."""
        given = {n: Tensor(a, self.order(a.shape)) for n, a in inputs.items()}
        if state:
            given["cache"] = [[Tensor(a) for a in side] for side in state]
            given["pos"], given["whole"] = self.sizes["S"] - 1, True
        out = self.net(weights, given, self.sizes)
        if state:
            state = [[t.plain for t in side] for side in given["cache"]]
        return {n: t.plain for n, t in out.items()}, state

    def once(self, params, inputs, state):
        return self.apply(Weights(self.kind, params), inputs, state)

    def looped(self, params, inputs, state):
        """LOOP runs in turn; each waits for the one before."""
        def body(_, carry):
            inputs, state, _ = carry
            out, state = self.once(params, inputs, state)
            return (*lax.optimization_barrier((inputs, state, out)),)
        out = jax.eval_shape(self.once, params, inputs, state)[0]
        out = {n: jnp.zeros(t.shape, t.dtype) for n, t in out.items()}
        _, state, out = lax.fori_loop(0, LOOP, body, (inputs, state, out))
        return out, state

    def compile(self, manner, attention):
        """The program of `once` or `looped`; it takes its state for good."""
        Tensor.attention = attention
        jitted = jax.jit(getattr(self, manner), donate_argnums=2)
        precision = "highest" if self.kind == "f32" else "default"
        with jax.default_matmul_precision(precision):
            lowered = jitted.lower(self.params, self.inputs, self.state)
        return lowered.compile()

    def attentions(self):
        """Implementations worth a try; cuDNN has none for f32."""
        cudnn = (self.attends and self.kind != "f32" and
                 jax.default_backend() == "gpu")
        return (None, "cudnn") if cudnn else (None,)


# ---- measuring

def time_of(step, groups=5, least_s=0.05):
    """Median microseconds of a step; step() enqueues and returns results."""
    def seconds(n):
        start = time.perf_counter()
        for _ in range(n):
            out = step()
        jax.block_until_ready(out)
        return (time.perf_counter() - start) / n
    seconds(2)
    n = max(1, int(least_s / seconds(1)))
    return statistics.median(seconds(n) for _ in range(groups)) * 1e6


def expected(network, data):
    """The network in double, by PyTorch."""
    if not data.stateful:
        return data.rows(data.ref, network.batch)
    inputs = data.rows(data.inputs[-1], network.batch)
    inputs["cache"] = data.cache(network.batch, torch.float64)
    inputs["pos"], inputs["whole"] = data.sizes["S"] - 1, True
    return data.net(data.weights, inputs, data.sizes)


def timed(network, variant, params, inputs, ref):
    """The figures of one program; an exception where it is wrong."""
    manner, attention = variant
    start = time.time()
    program = network.compile(manner, attention)
    compile_s = round(time.time() - start, 1)
    state = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), network.state)
    out, state = program(params, inputs, state)
    error = max(run.error_of(torch, n, {n: torch.from_dlpack(out[n])}, ref)
                for n in ref)
    if not error <= run.TOLERANCE[network.kind]:
        raise ValueError(f"wrong, error {error:.1e}")

    def step():
        nonlocal out, state
        out, state = program(params, inputs, state)
        return out, state
    us = time_of(step) / (LOOP if manner == "looped" else 1)
    return {"us": round(us, 2), "error": error, "compile_s": compile_s,
            "manner": manner, "attention": attention}


def measure(network, data):
    """A case's figures: those of its quickest program, and all `xla_tried`."""
    ref = expected(network, data)
    params = network.weights.packed(data.weights.tensors)
    rows = data.rows(data.inputs[-1], network.batch)
    inputs = {n: to_jax(rows[n], network.order(rows[n].shape))
              for n in network.inputs}
    tried, notes = [], []

    def attempt(*variant):
        try:
            tried.append(timed(network, variant, params, inputs, ref))
        except Exception as e:
            notes.append(f"{variant[0]}, {variant[1]}: {e}"[:200])
    attempt("once", None)       # its time says which manner is worth more
    short = tried and tried[0]["us"] < LOOP_BELOW_US
    for attention in network.attentions():
        if short or attention:
            attempt("looped" if short else "once", attention)
    case = {"xla_tried": tried}
    if tried:
        best = min(tried, key=lambda t: t["us"])
        case.update(xla_us=best["us"], xla_error=best["error"])
    if notes:
        case["xla_note"] = "; ".join(notes)
    return case


def report(names, sizes, device, limit):
    """Prints two JSON lines for each case, before and after."""
    batches = {}
    for name in names:
        stem, batch = name.rsplit(".b", 1)
        batches.setdefault(stem, []).append(int(batch))
    for stem in batches:
        data = None
        gc.collect()
        for batch in batches[stem]:
            name = f"{stem}.b{batch}"
            run.say(json.dumps({"begin": name}))
            faulthandler.dump_traceback_later(limit, exit=True)
            try:
                data = data or reference.Case(*stem.split("."), batches[stem],
                                              sizes, device)
                case = measure(Network(name, sizes), data)
            except Exception as e:
                case = {"xla_note": f"{type(e).__name__}: {e}"[:200]}
            run.say(json.dumps({"case": name, **case}))
            if device == "cuda":
                torch.cuda.empty_cache()
    faulthandler.cancel_dump_traceback_later()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--cases", required=True, help="MODEL.TYPE.bBATCH,...")
    p.add_argument("-D", action="append", default=[], metavar="NAME=VALUE")
    p.add_argument("--limit", type=float, default=90,
                   help="seconds for a case; more end the process")
    p.add_argument("--cpu", action="store_true", help="without a GPU")
    o = p.parse_args()
    if o.cpu:
        jax.config.update("jax_platforms", "cpu")
    elif jax.default_backend() != "gpu":
        run.say("jax has no GPU here")
        return 3
    sizes = reference.sizes_of(o.D)
    with torch.no_grad():
        report(o.cases.split(","), sizes, "cpu" if o.cpu else "cuda", o.limit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
