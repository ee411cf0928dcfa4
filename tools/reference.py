#!/usr/bin/env python3
"""Weights, inputs and reference outputs for the models of examples/.

    tools/reference.py --models resnet18,bert_base --types f16 --batch 1,8 \\
        -D S=32 --out out

writes, for each model and element type, out/NAME.TYPE.weights.safetensors
and, for each batch size, NAME.TYPE.bN.in.safetensors and .ref.safetensors.
Weights are random and seeded, stored as the element type; the references are
computed in double from what was stored, and stored as F64.  Batch norms have
the statistics of one real pass.  A model with state (gpt2_decode) runs three
times: .in0, .in1, .in2, and .ref is of the last run.

Needs torch; uses a GPU for the arithmetic if there is one.
"""
import argparse
import os

import torch

import nets
import st

KINDS = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
STEPS = 3  # runs of a model with state
CACHED = {"gpt2_decode": 64, "smollm2_decode": 192}  # columns a head of keys


def input_shapes(spec, size):
    """(name, sizes, bound or None) of each input of a net in nets.NETS."""
    for name, shape in spec.items():
        bound = None
        if shape and isinstance(shape[0], tuple) or shape == ((), "S"):
            shape, bound = shape
        if isinstance(bound, tuple):
            bound = [min(b, size["V"]) for b in bound]
        else:
            bound = bound and size[bound]
        yield name, [size.get(n, n) for n in shape], bound


def array(t):
    t = t.contiguous().cpu()
    if t.dtype == torch.bfloat16:
        return t.view(torch.int16).numpy().view(st.BF16)
    return t.numpy()


class Case:
    """One model with one element type: weights, inputs, references.

    All batch sizes share the weights and the first inputs: row b of the
    inputs and of the outputs is the same in every batch that has it.
    """

    def __init__(self, name, kind, batch, sizes=None, device=None, seed=0):
        self.name, self.kind = name, KINDS[kind]
        self.net, defaults, self.spec = nets.NETS[name]
        self.sizes = {**defaults, **{k: v for k, v in (sizes or {}).items()
                                     if k in defaults}}
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.stateful = name in CACHED
        self.weights = nets.Weights(self.kind, self.device, seed)
        batch = max(batch)
        # a batch norm's statistics need a few images, whatever is asked for
        calibration = max(batch, 4) if "x" in self.spec else batch
        self.inputs = [self._inputs(calibration, seed + 1 + s)
                       for s in range(STEPS if self.stateful else 1)]
        for s, i in enumerate(self.inputs):
            if self.stateful:
                i["pos"] = torch.tensor(s, dtype=torch.int32)
        with torch.no_grad():
            self.ref = self._reference(calibration)
        self.weights.calibrating = False

    def _inputs(self, batch, seed):
        gen = torch.Generator(self.device).manual_seed(seed)
        size = {**self.sizes, "B": batch}
        out = {}
        for name, dims, bound in input_shapes(self.spec, size):
            if bound:
                several = isinstance(bound, list)
                t = torch.randint(0, max(bound) if several else bound, dims,
                                  generator=gen, device=self.device,
                                  dtype=torch.int32)
                if several:
                    t %= torch.tensor(bound, device=self.device).int()
            else:
                t = torch.randn(dims, generator=gen, device=self.device)
                t = t.to(self.kind)
            out[name] = t
        return out

    def cache(self, batch, kind):
        """The state of a model that decodes, zero."""
        d = self.sizes
        return torch.zeros(2, d["L"], batch, d["D"] // CACHED[self.name],
                           d["S"], 64,
                           dtype=kind, device=self.device)

    def _reference(self, batch):
        cache = self.cache(batch, torch.float64) if self.stateful else None
        for i in self.inputs:
            i = {n: t.double() if t.is_floating_point() else t
                 for n, t in i.items()}
            if self.stateful:
                i["cache"] = cache
            out = self.net(self.weights, i, self.sizes)
        return out

    def rows(self, tensors, batch):
        return {n: t[:batch] if t.dim() else t for n, t in tensors.items()}

    def write_weights(self, path):
        st.write(path, {n: array(t) for n, t in self.weights.tensors.items()})

    def write_inputs(self, paths, batch):
        for path, i in zip(paths, self.inputs):
            st.write(path, {n: array(t)
                            for n, t in self.rows(i, batch).items()})

    def write_reference(self, path, batch):
        st.write(path, {n: array(t)
                        for n, t in self.rows(self.ref, batch).items()})

    def input_paths(self, stem):
        if not self.stateful:
            return [stem + ".in.safetensors"]
        return [f"{stem}.in{s}.safetensors" for s in range(STEPS)]


def sizes_of(definitions):
    """["S=32", ...] as a dict of numbers."""
    return {n: int(v) for n, v in (d.split("=") for d in definitions)}


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--models", default=",".join(nets.NETS))
    p.add_argument("--types", default="f16,f32")
    p.add_argument("--batch", default="1,8")
    p.add_argument("-D", action="append", default=[], metavar="NAME=VALUE")
    p.add_argument("--out", default="out")
    p.add_argument("--seed", type=int, default=0)
    o = p.parse_args()
    os.makedirs(o.out, exist_ok=True)
    batches = [int(b) for b in o.batch.split(",")]
    for name in o.models.split(","):
        for kind in o.types.split(","):
            case = Case(name, kind, batches, sizes_of(o.D), seed=o.seed)
            stem = os.path.join(o.out, f"{name}.{kind}")
            case.write_weights(stem + ".weights.safetensors")
            for b in batches:
                case.write_inputs(case.input_paths(f"{stem}.b{b}"), b)
                case.write_reference(f"{stem}.b{b}.ref.safetensors", b)
            spread = ", ".join(
                f"{n} {list(t.shape)} std {t.double().std():.3g}"
                for n, t in case.ref.items())
            print(f"{name} {kind}: {spread}", flush=True)


if __name__ == "__main__":
    main()
