#!/usr/bin/env python3
"""examples/chargpt_train.dcl beside PyTorch: the loss of each step.

    tests/gpu/chargpt.py --dcc build/dcc --json tests/gpu/results/h200-chargpt.json
    tests/gpu/chargpt.py --cpu --steps 5 --batch 2    # no GPU: by runtime/emu

The text is what Python's help() says of the language (pydoc_data), or --text.
dcc, PyTorch in the same type (f16: autocast) and PyTorch in f64 begin with the
same weights and read the same rows; all have AdamW, a rate that warms up, and
the same decays. Written are every step's three losses, what held-out rows lose
at the end, the weights' distance from where f64 brought them, and how often each
was the nearer one.

Right is: the mean square distance of dcc's losses from f64's is at most twice
PyTorch's own, of f16 at most 0.5% of the loss, and the last loss is under 0.6 of
the first in 300 steps or more. Exit status 1 if not, 3 without a GPU or torch.
"""
import argparse
import contextlib
import hashlib
import json
import math
import os
import sys
import tempfile
import time

import run

WIDTH, LAYERS, HEADS, SPAN = 128, 4, 4, 64


def text_of(path):
    if path:
        with open(path, "rb") as f:
            return f.read()
    from pydoc_data.topics import topics
    return "\n".join(topics[k] for k in sorted(topics)).encode()


def start(torch):
    """{name: first value}, as the example's initialisers would draw"""
    gen = torch.Generator().manual_seed(1)
    out = {}

    def normal(name, std, *shape):
        out[name] = torch.randn(shape, generator=gen) * std

    def norm(name):
        out[name + ".weight"] = torch.ones(WIDTH)
        out[name + ".bias"] = torch.zeros(WIDTH)

    def dense(name, to, of, std=0.02):
        normal(name + ".weight", std, to, of)
        out[name + ".bias"] = torch.zeros(to)
    normal("bytes.weight", 0.02, 256, WIDTH)
    normal("places.weight", 0.02, SPAN, WIDTH)
    for i in range(LAYERS):
        at = f"layers.{i}."
        norm(at + "norm1")
        dense(at + "attention", 3 * WIDTH, WIDTH)
        dense(at + "projection", WIDTH, WIDTH, 0.02 / math.sqrt(2 * LAYERS))
        norm(at + "norm2")
        dense(at + "fc1", 4 * WIDTH, WIDTH)
        dense(at + "fc2", WIDTH, 4 * WIDTH, 0.02 / math.sqrt(2 * LAYERS))
    norm("norm")
    return out


def loss_of(torch, w, rows):
    """The example's chargpt."""
    F = torch.nn.functional

    def norm(x, name):
        return F.layer_norm(x, (WIDTH,), w[name + ".weight"],
                            w[name + ".bias"])

    def dense(x, name):
        return F.linear(x, w[name + ".weight"], w[name + ".bias"])
    rows = rows.long()
    x = w["bytes.weight"][rows[:, :-1]] + w["places.weight"]
    for i in range(LAYERS):
        at = f"layers.{i}."
        q, k, v = (t.unflatten(2, (HEADS, -1)).transpose(1, 2) for t in dense(
            norm(x, at + "norm1"), at + "attention").chunk(3, 2))
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + dense(o.transpose(1, 2).flatten(2), at + "projection")
        x = x + dense(F.gelu(dense(norm(x, at + "norm2"), at + "fc1")),
                      at + "fc2")
    z = F.linear(norm(x, "norm"), w["bytes.weight"])
    if z.dtype != torch.float64:
        z = z.float()
    return F.cross_entropy(z.flatten(0, 1), rows[:, 1:].flatten())


def rate_of(step):
    return 0.001 * min((step + 1) / 100, 1.0)


def train_torch(torch, o, given, kind, mixed):
    """(losses, loss of held-out rows, weights)"""
    w = {n: t.to(o.device, kind, copy=True).requires_grad_()
         for n, t in given["start"].items()}
    opt = torch.optim.AdamW(
        [{"params": [t for t in w.values() if t.dim() > 1],
          "weight_decay": 0.1},
         {"params": [t for t in w.values() if t.dim() == 1],
          "weight_decay": 0.0}], lr=0.0)

    def loss(rows):
        with torch.autocast(o.device, torch.float16) if mixed \
                else contextlib.nullcontext():
            return loss_of(torch, w, rows)
    losses = []
    for step, rows in enumerate(given["batches"]):
        for group in opt.param_groups:
            group["lr"] = rate_of(step)
        s = loss(rows)
        opt.zero_grad(set_to_none=True)
        s.backward()
        opt.step()
        losses.append(s.detach())
    with torch.no_grad():
        held = sum(loss(rows).item() for rows in given["held"]) / len(
            given["held"])
    return [s.item() for s in losses], held, {
        n: t.detach() for n, t in w.items()}


class Here:
    """A stream, where there is none."""
    cuda_stream = 0

    @staticmethod
    def synchronize():
        pass


def train_dcc(torch, o, given, kind):
    import reference
    import st
    stem = os.path.join(o.work, "chargpt." + kind)
    first = stem + ".safetensors"
    st.write(first, {n: reference.array(t) for n, t in given["start"].items()})
    stream = Here() if o.cpu else torch.cuda.Stream()
    step = torch.zeros((), dtype=torch.int32, device=o.device)
    loss = torch.zeros((), device=o.device)
    rows = given["batches"][0].clone()
    handle = run.Emitted(stem + ".so", "chargpt_train", first)
    losses = []
    with contextlib.nullcontext() if o.cpu else torch.cuda.stream(stream):
        one = handle.runner({"text": rows, "step": step}, {"loss": loss},
                            stream)
        begin = time.time()
        for i, batch in enumerate(given["batches"]):
            rows.copy_(batch)
            step.fill_(i)
            one()
            losses.append(loss.clone())
        stream.synchronize()
    seconds = time.time() - begin
    last = stem + ".last"
    handle._check("save", handle.handle, last.encode())
    got = st.read(last)
    look = run.Emitted(stem + ".so", "chargpt_check", last)
    held = 0.0
    for batch in given["held"]:
        with contextlib.nullcontext() if o.cpu else torch.cuda.stream(stream):
            rows.copy_(batch)
            look.runner({"text": rows}, {"loss": loss}, stream)()
            stream.synchronize()
        held += loss.item() / len(given["held"])
    handle.destroy()
    look.destroy()
    return [s.item() for s in losses], held, {
        n: torch.from_numpy(got[n].copy()).to(o.device)
        for n in given["start"]}, seconds


def build(o, kind):
    """None, or what went wrong."""
    stem = os.path.join(o.work, "chargpt." + kind)
    status, text = run.shell(
        [o.dcc, os.path.join(run.TOP, "examples/chargpt_train.dcl"), "-o",
         stem + ".cu", f"--target={o.target}", f"-DE={kind}",
         f"-DB={o.batch}"] + ([f"--math={o.math}"] if kind == "f32" else []))
    if status:
        return run.tail(text)
    if o.cpu:
        status, text = run.shell(
            ["sh", os.path.join(run.RUNTIME, "emu/dcc-emu-cc"), "--shared",
             "-o", stem + ".so", stem + ".cu"])
    else:
        status, text = run.shell(
            ["nvcc", "-O3", "-std=c++17", *run.arch_flags(o.arch),
             "-Xcompiler", "-fPIC", "-split-compile=0", "-shared", "-I",
             run.RUNTIME, stem + ".cu", *o.objects, "-o", stem + ".so"])
    return run.tail(text) if status else None


def distance(a, b):
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)) / len(a))


def away(w, want, begin):
    """|w - want| over |want - begin|, all parameters as one vector"""
    far = sum((w[n].double() - t).square().sum().item()
              for n, t in want.items())
    size = sum((t - begin[n].to(t)).square().sum().item()
               for n, t in want.items())
    return math.sqrt(far / size)


def compare(torch, o, given, kind, exact):
    out = {"type": kind}
    wrong = build(o, kind)
    if wrong:
        return dict(out, error=wrong, ok=False)
    torch_losses, torch_held, torch_w = train_torch(
        torch, o, given, torch.float32, kind == "f16")
    losses, held, w, seconds = train_dcc(torch, o, given, kind)
    want, want_held, want_w = exact
    mine, own = distance(losses, want), distance(torch_losses, want)
    ok = mine <= (2 * own if kind == "f32" else 0.005 * want[-1])
    if o.steps >= 300:
        ok = ok and losses[-1] < 0.6 * losses[0]
    nearer = sum(abs(a - c) <= abs(b - c)
                 for a, b, c in zip(losses, torch_losses, want))
    out.update(
        ok=ok, first={"dcc": losses[0], "torch": torch_losses[0],
                      "f64": want[0]},
        last={"dcc": losses[-1], "torch": torch_losses[-1], "f64": want[-1]},
        held_out={"dcc": held, "torch": torch_held, "f64": want_held},
        distance={"dcc": mine, "torch": own}, dcc_nearer=nearer,
        weights_away={"dcc": away(w, want_w, given["start"]),
                      "torch": away(torch_w, want_w, given["start"])},
        dcc_seconds=round(seconds, 2),
        losses=[[round(x, 7) for x in three]
                for three in zip(losses, torch_losses, want)])
    run.say(json.dumps({k: v for k, v in out.items() if k != "losses"}))
    return out


def data(torch, o):
    """The batches: rows of SPAN + 1 bytes, the last tenth of the text apart"""
    text = text_of(o.text)
    cut = len(text) * 9 // 10
    gen = torch.Generator().manual_seed(2)
    whole = torch.frombuffer(bytearray(text), dtype=torch.uint8)

    def rows(first):
        return torch.stack([whole[i:i + SPAN + 1] for i in first.tolist()]
                           ).to(o.device)
    batches = [rows(torch.randint(0, cut - SPAN, (o.batch,), generator=gen))
               for _ in range(o.steps)]
    held = [rows(torch.randint(cut, len(text) - SPAN, (o.batch,),
                               generator=gen)) for _ in range(4)]
    return {"start": start(torch), "batches": batches, "held": held}, {
        "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}


def options():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--dcc", default=os.path.join(run.TOP, "build/dcc"))
    p.add_argument("--target", default="h200")
    p.add_argument("--arch", default="90a")
    p.add_argument("--types", type=lambda s: s.split(","),
                   default=["f32", "f16"])
    p.add_argument("--math", default="3xtf32", help="of f32")
    p.add_argument("--steps", type=int, default=500)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--text", help="a file; default: pydoc_data's topics")
    p.add_argument("--cpu", action="store_true")
    p.add_argument("--work", help="folder to build in, and to leave")
    p.add_argument("--json")
    p.add_argument("--commit", default="")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    o = p.parse_args()
    o.device = "cpu" if o.cpu else "cuda"
    return o


def main():
    o = options()
    try:
        import torch
    except ImportError:
        run.say("no torch: skipped")
        return 3
    if not o.cpu and not torch.cuda.is_available():
        run.say("no GPU: skipped")
        return 3
    torch.backends.cuda.matmul.allow_tf32 = False
    o.work = o.work or tempfile.mkdtemp(prefix="dcc-chargpt-")
    os.makedirs(o.work, exist_ok=True)
    o.objects = [] if o.cpu else run.build_runtime(o)
    given, about = data(torch, o)
    report = {**run.machine(o), "text": about, "steps": o.steps,
              "batch": o.batch, "torch": torch.__version__, "types": []}
    exact = train_torch(torch, o, given, torch.float64, False)
    for kind in o.types:
        report["types"].append(compare(torch, o, given, kind, exact))
        if o.json:
            with open(o.json + ".part", "w") as f:
                json.dump(report, f)
            os.replace(o.json + ".part", o.json)
    return 0 if all(t["ok"] for t in report["types"]) else 1


if __name__ == "__main__":
    sys.exit(main())
