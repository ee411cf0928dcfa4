#!/usr/bin/env python3
"""Times torch.compile on networks of examples/, for tests/gpu/run.py --compile.

    tests/gpu/compiled.py --cases resnet50.f16.b32,bert_base.f16.b1

A process for each case compiles and captures a CUDA graph, many at once since
that takes a minute of a core; when all are ready, or time is up, they are
timed one after another, the others idle.

Prints a JSON line for each case: {"case": case, "compile_us", "compile_s"}, or
compile_note, which says why there is no time.
"""
import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run                                      # noqa: E402


def worker(name, mode, sizes):
    """Says ready, waits for a line, says the time."""
    import torch
    import reference
    model, kind, batch = name.split(".")
    batch = int(batch[1:])
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    with torch.no_grad():
        data = reference.Case(model, kind, [batch], reference.sizes_of(sizes), "cuda")
    start = time.time()
    net = run.torch_net(torch, data, batch)
    graph, out = run.graph_of(torch, torch.compile(net, mode=mode,
                                                   dynamic=False))
    compile_s = round(time.time() - start, 1)
    run.say("ready")
    sys.stdin.readline()
    us = round(run.event_time(torch, graph.replay), 2)
    ref = data.rows(data.ref, batch)
    error = (None if data.stateful else
             max(run.error_of(torch, n, out, ref) for n in ref))
    if error is not None and not error <= run.TOLERANCE[kind]:
        raise ValueError(f"wrong, error {error:.1e}")
    run.say(json.dumps({"compile_us": us, "compile_s": compile_s,
                        "compile_error": error}))


class Compiling:
    """A worker: `lines` has what it says, and None at its end."""

    def __init__(self, name, o):
        self.name, self.lines = name, queue.Queue()
        self.log = os.path.join(o.work, name + ".compile.log")
        env = dict(os.environ, TORCHINDUCTOR_COMPILE_THREADS="2")
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--worker", name,
             "--mode", o.mode, *[f"-D{d}" for d in o.D]],
            stdin=subprocess.PIPE, text=True, env=env,
            stdout=subprocess.PIPE, stderr=open(self.log, "w"))
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def next(self, start, least):
        """The next line that begins so; None at the end or after a while."""
        deadline = time.time() + least
        while True:
            try:
                line = self.lines.get(timeout=max(0.1, deadline - time.time()))
            except queue.Empty:
                return None
            if line is None or line.startswith(start):
                return line

    def why(self):
        try:
            self.process.wait(1)
        except subprocess.TimeoutExpired:
            return "not compiled in time"
        return run.tail(open(self.log).read(), 2)[-200:]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--cases", default="", help="MODEL.TYPE.bBATCH,...")
    p.add_argument("-D", action="append", default=[], metavar="NAME=VALUE")
    p.add_argument("--mode", default="default")
    p.add_argument("--work", default=".", help="folder for logs")
    p.add_argument("--limit", type=float, default=150, help="seconds to compile")
    p.add_argument("--worker", help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.worker:
        return worker(o.worker, o.mode, o.D)
    deadline = time.time() + o.limit
    compiling = [Compiling(name, o) for name in o.cases.split(",")]
    ready = {c for c in compiling
             if c.next("ready", deadline - time.time())}
    for c in compiling:                 # nothing else runs from here on
        if c not in ready:
            case = {"compile_note": c.why()}
            c.process.kill()
        else:
            c.process.stdin.write("go\n")
            c.process.stdin.flush()
            line = c.next("{", 60)
            case = json.loads(line) if line else {"compile_note": c.why()}
        run.say(json.dumps({"case": c.name, **case}))
        c.process.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
