#!/usr/bin/env python3
"""XLA (JAX's jit) on bench.py's rows and attention with other scores.

    tests/bench/xla_rows.py --json xla.json

A call has a shape so many times, on tensors of its own each time (240 MB of
them), so that neither Python's part nor the caches show; its time is divided
by their number. Values are normal; times alone, what they mean is bench.py's.
Prints a line for each shape, writes JSON; exit status 3 without JAX on a GPU.
"""
import argparse
import json
import math
import os
import statistics
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import shapes as spec           # noqa: E402
import attention                # noqa: E402

ROTATE_BYTES, ROUNDS = 240e6, 7


def function(jax, jnp, shape):
    """Of x, w and b, as bench.py's text has it."""
    def norm(x, w, b):
        a = x.astype(jnp.float32)
        a = a - a.mean(-1, keepdims=True)
        a = a * jax.lax.rsqrt(jnp.square(a).mean(-1, keepdims=True) + 1e-5)
        return (a * w + b).astype(x.dtype)

    def rms(x, w, b):
        a = (x + w).astype(jnp.float32)
        a = a * jax.lax.rsqrt(jnp.square(a).mean(-1, keepdims=True) + 1e-6)
        return (a * b).astype(x.dtype)

    def stats(x, w, b):
        a = x.astype(jnp.float32)
        m = a.mean(0)
        return jnp.stack([m, jnp.square(a - m).mean(0)]).astype(x.dtype)

    def softmax(x, w, b):
        return jax.nn.softmax(x.astype(jnp.float32), -1).astype(x.dtype)

    def scores(x, w, b):
        f = shape.at
        i = jnp.arange(f["m"])[:, None]
        j = jnp.arange(f["j"])[None, :]
        s = jnp.einsum("nhid,nhjd->nhij", x, w[0],
                       preferred_element_type=jnp.float32)
        s = s / math.sqrt(f["d"])
        if shape.kind == "relbias":
            s = s + b.reshape(f["h"], -1)[:, j - i + f["m"] - 1]
        if shape.kind == "alibi":
            s = s - b[:, None, None] * (i - j)
        if shape.kind == "cap":
            s = 50 * jnp.tanh(s / 50)
        if f["c"]:
            s = jnp.where(j <= i, s, -jnp.inf)
        if shape.kind == "doc":
            s = jnp.where(b[:, None] == b[None, :], s, -jnp.inf)
        p = jax.nn.softmax(s, -1).astype(x.dtype)
        return jnp.einsum("nhij,nhjd->nhid", p, w[1])
    return {"softmax": softmax, "norm": norm, "rms": rms,
            "stats": stats}.get(shape.kind, scores)


def measure(jax, jnp, name):
    shape = spec.Shape(name)
    n = min(32, max(2, math.ceil(ROTATE_BYTES / shape.bytes)))
    f = function(jax, jnp, shape)
    keys = jax.random.split(jax.random.key(1), 3 * n)

    def drawn(dims, i):
        return jax.random.normal(keys[i], dims, jnp.float16)
    sets = [(drawn(shape.x, 3 * i), drawn(shape.w, 3 * i + 1),
             drawn((shape.b,), 3 * i + 2)) for i in range(n)]
    jitted = jax.jit(lambda sets: [f(*s) for s in sets])
    start = time.time()
    jax.block_until_ready(jitted(sets))
    compile_s = time.time() - start
    us = []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        jax.block_until_ready(jitted(sets))
        us.append((time.perf_counter() - start) * 1e6 / n)
    return {"xla_us": round(statistics.median(us[1:]), 3), "sets": n,
            "compile_s": round(compile_s, 1)}


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--json", default="xla_rows.json")
    p.add_argument("--shape-list", default="", help="names, by commas")
    p.add_argument("--limit", type=float, default=60, help="seconds")
    o = p.parse_args()
    try:
        import jax
        import jax.numpy as jnp
        if jax.default_backend() == "cpu" and not os.environ.get("XLA_CPU"):
            raise RuntimeError("no GPU")
    except (ImportError, RuntimeError) as e:
        print(f"skipped: {e}")
        return 3
    names = o.shape_list.split(",") if o.shape_list else [
        s for r in spec.table() if r.key in ("rows", "stats")
        for s in r.shapes] + attention.flex()
    found, end = {"jax": jax.__version__, "shapes": {}}, time.time() + o.limit
    for name in names:
        if time.time() > end:
            break
        try:
            found["shapes"][name] = measure(jax, jnp, name)
        except Exception as e:      # the peer's trouble is not ours
            found["shapes"][name] = {"note": f"{type(e).__name__}: {e}"[:200]}
        print(name, found["shapes"][name], flush=True)
        with open(o.json, "w") as f:
            json.dump(found, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
