#!/usr/bin/env python3
"""Times XLA (JAX's jit) on training steps, for tests/gpu/train.py --xla.

    tests/gpu/xla_train.py resnet18.f16.b32

The step is train.py's: tools/nets.py's text under JAX's tracing (xla.py), the
statistics of the batch in batch norms, parameters f32 (cast to f16 where they
are read, in f16), jax.grad, w - rate * g, parameters donated.  It is timed as
a queue of calls and, where Python's part may show, as a loop inside one call;
attention by jax.nn and, in f16, by cuDNN; the quickest counts.  Prints one JSON
line: xla_us and xla_tried, or xla_note.  --cpu: tries that it runs.
"""
import json
import sys
import time

import xla                                      # sets XLA's flags, too
import train
import jax
import jax.numpy as jnp
from jax import lax

import nets
import reference


class Weights(xla.Weights):
    """Parameters are f32; batch norms take the statistics of the batch."""

    def __init__(self, kind, arrays=None, kept=None):
        super().__init__(kind, arrays)
        self.kept, self.stats = kept, {}

    def __call__(self, name, *shape, std=None, mean=0.0):
        t = super().__call__(name, *shape, std=std, mean=mean)
        return t.map(lambda a: a.astype(xla.KINDS[self.kind]))

    def bn(self, x, path, gain=1.0, eps=1e-5):
        c = x.shape[1]
        g = self(path + ".weight", c).array.astype(jnp.float32)
        b = self(path + ".bias", c).array.astype(jnp.float32)
        a = x.held(xla.NHWC).astype(jnp.float32)
        mean = a.mean((0, 1, 2))
        var = jnp.square(a - mean).mean((0, 1, 2))
        m, v = (self.kept or {}).get(path, (0.0, 1.0))
        n = a.size // c
        self.stats[path] = (m + 0.1 * (mean - m),
                            v + 0.1 * (var * (n / max(n - 1, 1)) - v))
        y = (a - mean) * (lax.rsqrt(var + eps) * g) + b
        return xla.Tensor(y.astype(x.array.dtype), xla.NHWC)


class Step:
    """One row as a function (parameters, running statistics) -> the next."""

    def __init__(self, name, sizes):
        self.model, self.kind, batch = name.split(".")
        self.net, defaults, spec = nets.NETS[self.model]
        self.sizes = {**defaults, **sizes}
        size = {**self.sizes, "B": int(batch[1:])}
        key, self.inputs = jax.random.key(1), {}
        for n, dims, bound in reference.input_shapes(spec, size):
            dims = [dims[a] for a in xla.Network.order(dims)]
            self.inputs[n] = (
                jax.random.randint(key, dims, 0, bound) if bound else
                jax.random.normal(key, dims, xla.KINDS[self.kind]))
        w = Weights(self.kind)
        out = jax.eval_shape(lambda i: self.forward(w, i), self.inputs)
        self.params = {n: 0.02 * jax.random.normal(jax.random.fold_in(key, i), s)
                       for i, (n, s) in enumerate(w.shapes.items())}
        self.stats = {p: (jnp.zeros(m.shape), jnp.ones(v.shape))
                      for p, (m, v) in out[1].items()}
        shape = out[0].shape
        self.target = (jax.random.uniform(key, shape)
                       if self.model in train.SQUARES else
                       jax.random.randint(key, shape[:-1], 0, shape[-1]))

    def forward(self, w, inputs):
        given = {n: xla.Tensor(a, xla.Network.order(a.shape))
                 for n, a in inputs.items()}
        out = next(iter(self.net(w, given, self.sizes).values()))
        return out.plain.astype(jnp.float32), w.stats

    def loss(self, params, stats, inputs, target):
        y, stats = self.forward(Weights(self.kind, params, stats), inputs)
        if self.model in train.SQUARES:
            s = jnp.square(y - target).mean()
        else:
            s = -jnp.take_along_axis(jax.nn.log_softmax(y), target[..., None],
                                     -1).mean()
        return s * train.SCALE[self.kind], (s, stats)

    def once(self, params, stats, inputs, target, rate):
        grads, (s, stats) = jax.grad(self.loss, has_aux=True)(
            params, stats, inputs, target)
        params = jax.tree.map(lambda w, g: w - rate * g, params, grads)
        return params, stats, s

    def looped(self, params, stats, inputs, target, rate):
        def body(_, carry):
            params, stats, _ = carry
            return self.once(params, stats, inputs, target, rate)
        return lax.fori_loop(0, xla.LOOP, body, (params, stats, jnp.zeros(())))

    def timed(self, manner, attention):
        xla.Tensor.attention = attention
        jitted = jax.jit(getattr(self, manner), donate_argnums=(0, 1))
        precision = "highest" if self.kind == "f32" else "default"
        copied = jax.tree.map(jnp.copy, (self.params, self.stats))
        start = time.time()
        with jax.default_matmul_precision(precision):
            program = jitted.lower(*copied, self.inputs, self.target,
                                   0.0).compile()
        compile_s = round(time.time() - start, 1)
        state = (*copied, None)

        def step():
            nonlocal state
            state = program(*state[:2], self.inputs, self.target, 0.0)
            return state
        us = xla.time_of(step) / (xla.LOOP if manner == "looped" else 1)
        if not jnp.isfinite(state[2]):
            raise ValueError("the loss is not finite")
        return {"us": round(us, 1), "manner": manner, "attention": attention,
                "compile_s": compile_s}


def main():
    name = sys.argv[1]
    if jax.default_backend() != "gpu" and "--cpu" not in sys.argv:
        return 3
    sizes = reference.sizes_of(a for a in sys.argv[2:] if "=" in a)
    step, tried, notes = Step(name, sizes), [], []

    def attempt(*variant):
        try:
            tried.append(step.timed(*variant))
        except Exception as e:
            notes.append(f"{variant[0]}, {variant[1]}: {e}"[:200])
    attempt("once", None)
    if tried and tried[0]["us"] < xla.LOOP_BELOW_US:
        attempt("looped", None)
    if xla.Tensor.attends and step.kind == "f16":
        attempt("once", "cudnn")
    out = {"xla_tried": tried}
    if tried:
        out["xla_us"] = min(t["us"] for t in tried)
    if notes:
        out["xla_note"] = "; ".join(notes)
    print(json.dumps(out), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
