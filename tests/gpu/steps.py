#!/usr/bin/env python3
"""Training steps of the examples' networks beside PyTorch's, on one GPU.

    tests/gpu/steps.py --dcc build/dcc --cases resnet18.f16.b32 --json F
    tests/gpu/steps.py --emit DIR       writes the programs there, no more

The loss is mean(y^2), the optimizer plain SGD; PyTorch's step is channels-last,
under autocast where dcc's is f16, with the fused optimizer, in a CUDA graph.
First the parameters' gradients are compared with PyTorch's in f64 (f32 for
convolutions), and so are PyTorch's under autocast; then both are timed, and each of
dcc's launches alone. --rows times cuDNN's and cuBLAS' gradients of weights and
of data for each product of these networks. Needs a GPU, nvcc, torch,
torchvision and transformers."""
import argparse
import collections
import concurrent.futures as futures
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
import gradients as files       # noqa: E402  safetensors
import launches                 # noqa: E402
from run import event_time, graph_time      # noqa: E402

TOP = os.path.dirname(os.path.dirname(HERE))
CASES = ("mlp_dlrm.f16.b2048,resnet18.f16.b32,resnet50.f16.b32,"
         "bert_base.f16.b8,gpt2.f16.b4")
SCALE = 65536       # of losses: cotangents are 16-bit numbers
LOSS = """
op mean_square(y: T[..]) -> s: f32 { s[] = mean(..) f32(y[..]) * y[..]; }
"""


def program(name):
    """The step of examples/NAME.dcl: batch norms take the batch's statistics,
    the output becomes the loss."""
    with open(os.path.join(TOP, "examples", name + ".dcl")) as f:
        text = f.read()
    text = re.sub(r'  param m : T\[C\] = "running_mean";.*\n.*batch_norm.*;',
                  '  y = batch_norm_train(x, g, b) as "";', text)
    last = re.search(r"  output (\w+) = ([^;]*);\n\}\s*$", text)
    y, what = last.groups()
    return text[:last.start()] + f"""  {y} = {what};
  input lr : f32;
  output loss = mean_square({y});
  scaled = loss * {SCALE};
  for v in params {{ v = sgd(v, grad(scaled, v) / {SCALE}, lr) as "sgd.{{v}}"; }}
}}
""" + LOSS


def emit(o, case):
    model, kind, batch = case.split(".")
    stem = os.path.join(o.work, case)
    with open(stem + ".dcl", "w") as f:
        f.write(program(model))
    if o.ready:
        with open(stem + ".txt") as f:
            return f.read()
    text = launches.shell([o.dcc, stem + ".dcl", f"-DE={kind}", "--main",
                           f"-DB={batch[1:]}", "--explain", "-o", stem + ".cu",
                           *o.dcc_flag], 600)
    with open(stem + ".txt", "w") as f:
        f.write(text)
    return text


def build(o, case):
    stem = os.path.join(o.work, case)
    try:
        steps = launches.explained(emit(o, case))
        launches.shell(["nvcc", "-O3", "-std=c++17", "--split-compile=0",
                        "-gencode", "arch=compute_90a,code=sm_90a", "-I",
                        launches.RUNTIME, stem + ".cu",
                        *(os.path.join(o.work, p + ".o")
                          for p in launches.PARTS), "-o", stem])
        return steps
    except Exception as e:
        print(case, "FAILED", str(e)[-900:], flush=True)
        return None


# ---- PyTorch's

def network(torch, name, batch):
    """(module, inputs by dcc's names, y of module and inputs)"""
    torch.manual_seed(1)
    if name.startswith("resnet"):
        import torchvision
        m = getattr(torchvision.models, name)(weights=None)
        return m, {"x": torch.randn(batch, 3, 224, 224)}, lambda m, x: m(x)
    if name == "mlp_dlrm":
        sizes = 512, 1024, 1024, 512, 256, 1
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts += [torch.nn.Linear(a, b), torch.nn.ReLU()]
        m = torch.nn.Sequential(*parts[:-1], torch.nn.Sigmoid())
        return m, {"x": torch.randn(batch, 512)}, lambda m, x: m(x)
    import transformers as t
    kind = {"attn_implementation": "sdpa"}
    for key in ("hidden_dropout_prob", "attention_probs_dropout_prob",
                "resid_pdrop", "embd_pdrop", "attn_pdrop"):
        if name.startswith("bert") == ("prob" in key):
            kind[key] = 0.0
    if name == "bert_base":
        m = t.BertModel(t.BertConfig(**kind), add_pooling_layer=False)
        ids = torch.randint(0, 30522, (batch, 128))
        return m, {"ids": ids}, lambda m, i: m(input_ids=i).last_hidden_state
    m = t.GPT2LMHeadModel(t.GPT2Config(**kind))
    ids = torch.randint(0, 50257, (batch, 1024))
    return m, {"ids": ids}, lambda m, i: m(input_ids=i, use_cache=False).logits


def peer(torch, case):
    name, kind, batch = case.split(".")
    m, given, call = network(torch, name, int(batch[1:]))
    last = torch.channels_last
    m = m.cuda().train().to(memory_format=last)
    x = next(iter(given.values())).cuda()
    if x.dim() == 4:
        x = x.to(memory_format=last)
    return m, given, lambda m, x: call(m, x), x, kind


def torch_step(torch, m, call, x, kind):
    opt = torch.optim.SGD(m.parameters(), lr=1e-6, fused=True)
    torch.backends.cudnn.benchmark = True

    def step():
        with torch.autocast("cuda", torch.float16, enabled=kind == "f16"):
            y = call(m, x)
        y.float().pow(2).mean().backward()
        opt.step()
        opt.zero_grad(set_to_none=False)
    return graph_time(torch, step, trains=True)


def gradients(torch, m, call, x, cast):
    with torch.autocast("cuda", torch.float16, enabled=cast):
        y = call(m, x)
    scale = SCALE if cast else 1.0
    (y if y.dtype == torch.float64 else y.float()).pow(2).mean().mul(
        scale).backward()
    out = {n: p.grad.double().cpu() / scale for n, p in m.named_parameters()
           if p.grad is not None}
    m.zero_grad(set_to_none=True)
    return out


def error(got, want):
    """Of all gradients together, and the worst that is not next to nothing."""
    most = max(w.norm() for w in want.values())
    rows = []
    for n, w in want.items():
        g = got.get(n)
        if g is not None and w.norm() > 1e-3 * most:
            rows.append((((g - w).norm() / w.norm()).item(), n))
    both = [n for n in want if n in got]
    whole = sum((got[n] - want[n]).norm() ** 2 for n in both) / sum(
        want[n].norm() ** 2 for n in both)
    return whole.sqrt().item(), max(rows)


def check(o, torch, case, m, given, call, x):
    """One step of dcc at a rate of 1: w0 - w1 is the gradient."""
    import numpy as np
    stem = os.path.join(o.work, case)
    name, kind, _ = case.split(".")
    start = {n: p.detach().cpu().numpy() for n, p in m.named_parameters()}
    start.update({n: b.detach().cpu().numpy() for n, b in m.named_buffers()
                  if n.endswith(("running_mean", "running_var"))})
    files.write(stem + ".w", start)
    what = {n: t.numpy() for n, t in given.items()}
    for n, t in what.items():
        what[n] = t.astype("i4") if t.dtype.kind == "i" else t.astype(
            "f2" if kind == "f16" else "f4")
    files.write(stem + ".in", what)
    files.write(stem + ".run", dict(what, lr=np.array(1e-6, "f4")))
    if os.path.exists(stem + ".out"):
        os.remove(stem + ".out")
    launches.shell([stem, "--train", "--weights", stem + ".w", "--data",
                    stem + ".in", "--steps", "1", "--set", "lr=1", "--save",
                    stem + ".out"])
    after = files.read(stem + ".out")
    mine = {n: torch.from_numpy(start[n].astype("f8") - after[n].astype("f8"))
            for n in start if n in after and not n.startswith("state:")
            and np.prod(start[n].shape) and not "running" in n}
    half = gradients(torch, m, call, x, kind == "f16")
    torch.backends.cudnn.allow_tf32 = False
    if not name.startswith("resnet"):
        m.double()
        x = x.double() if x.is_floating_point() else x
    want = gradients(torch, m, call, x, False)
    m.float()
    return {"dcc_error": error(mine, want), "torch_error": error(half, want)}


def measure(o, torch, case, steps):
    r = {"case": case}
    m, given, call, x, kind = peer(torch, case)
    try:
        if not o.unchecked:
            r.update(check(o, torch, case, m, given, call, x))
    except Exception as e:
        r["check"] = repr(e)[-600:]
    torch.cuda.empty_cache()
    stem = os.path.join(o.work, case)
    data = ["--random", "1"] if o.unchecked else [
        "--weights", stem + ".w", "--in", stem + ".run"]
    r.update(launches.measure(o, case, steps, data))
    r["torch_us"] = torch_step(torch, m, call, x, kind)
    again = launches.measure(o, case, steps, data)
    r["whole_us"] = min(r["whole_us"], again["whole_us"])
    return r


# ---- rows: gradients of each product alone

def convolutions(torch, name, batch):
    """{(C, H, K, R, stride): how often} of a torchvision network"""
    m, given, call = network(torch, name, 1)
    found = collections.Counter()

    def seen(layer, args, _):
        w = layer.weight
        found[(w.shape[1], args[0].shape[2], w.shape[0], w.shape[2],
               layer.stride[0])] += 1
    for layer in m.modules():
        if isinstance(layer, torch.nn.Conv2d):
            layer.register_forward_hook(seen)
    with torch.no_grad():
        call(m, given["x"])
    return found


def library(torch, run):
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(10):
            run()
    return event_time(torch, graph.replay, 3, 5000) / 10


def rows(o, torch):
    torch.backends.cudnn.benchmark = True
    out = []
    last, half = torch.channels_last, torch.float16
    for name in ("resnet18", "resnet50"):
        for (c, h, k, r, s), times in convolutions(torch, name, 32).items():
            x = torch.randn(32, c, h, h, device="cuda", dtype=half).to(
                memory_format=last)
            w = torch.randn(k, c, r, r, device="cuda", dtype=half).to(
                memory_format=last)
            y = torch.nn.functional.conv2d(x, w, None, s, r // 2)

            def back(which):
                torch.ops.aten.convolution_backward(
                    y, x, w, None, [s, s], [r // 2] * 2, [1, 1], False,
                    [0, 0], 1, which)
            row = dict(net=name, c=c, h=h, k=k, r=r, stride=s, times=times,
                       weight_us=library(torch,
                                         lambda: back([False, True, False])),
                       data_us=library(torch,
                                       lambda: back([True, False, False])))
            print(json.dumps(row), flush=True)
            out.append(row)
    return out


def show(r):
    if "dcc_error" in r:
        print(f"\n{r['case']}: gradients' error, all and worst: dcc",
              r["dcc_error"], "PyTorch", r["torch_error"])
    if "check" in r:
        print(f"\n{r['case']}: NOT CHECKED", r["check"])
    print(f"{r['case']}: dcc {r['whole_us']:.1f} us, PyTorch "
          f"{r['torch_us']:.1f} us: {r['torch_us'] / r['whole_us']:.2f}")
    launches.show(r)


def options():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--dcc", default=os.path.join(TOP, "build/dcc"))
    p.add_argument("--dcc-flag", action="append", default=[])
    p.add_argument("--cases", default=CASES)
    p.add_argument("--json", default="steps.json")
    p.add_argument("--work", default="steps.work", help="folder to build in")
    p.add_argument("--emit", metavar="DIR")
    p.add_argument("--ready", action="store_true",
                   help="the .cu and --explain's .txt are in --work already")
    p.add_argument("--unchecked", action="store_true")
    p.add_argument("--rows", action="store_true")
    return p.parse_args()


def main():
    o = options()
    if o.emit:
        os.makedirs(o.emit, exist_ok=True)
        for name in sorted({c.split(".")[0] for c in o.cases.split(",")}):
            with open(os.path.join(o.emit, name + ".dcl"), "w") as f:
                f.write(program(name))
        return
    os.makedirs(o.work, exist_ok=True)
    cases = o.cases.split(",")
    with futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda part: launches.shell(
            ["nvcc", "-O2", "-c", os.path.join(launches.RUNTIME, part + ".c"),
             "-o", os.path.join(o.work, part + ".o")]), launches.PARTS))
        built = list(pool.map(lambda c: build(o, c), cases))
    import torch
    report = {"gpu": torch.cuda.get_device_name(), "steps": [], "rows": []}
    for case, steps in zip(cases, built):
        if steps:
            try:
                report["steps"].append(measure(o, torch, case, steps))
                show(report["steps"][-1])
            except Exception as e:
                print(case, "FAILED", repr(e)[-900:], flush=True)
            torch.cuda.empty_cache()
            with open(o.json, "w") as f:
                json.dump(report, f, indent=1)
    if o.rows:
        report["rows"] = rows(o, torch)
    with open(o.json, "w") as f:
        json.dump(report, f, indent=1)


if __name__ == "__main__":
    main()
